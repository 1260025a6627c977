// Tests of turns that wait: for approval, or for answers to the questions of a tool.
import assert from "node:assert/strict";
import { bodies } from "./provider.mjs";

export function decisionTests({ page, ask, idle, api, problems }) {
  const name = (at) => at.locator("#conversation-name").textContent();
  const lastResult = () => JSON.parse(bodies.at(-1)).messages.at(-1).content;
  const results = () => JSON.parse(bodies.at(-1)).messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  const said = (at, text) => at.locator("#messages").getByText(text).last().waitFor();

  /** Waits until the page has shown the waiting turn, without a request to the model. */
  async function waits(at, id, requests) {
    await at.locator("form.approval").waitFor();
    await idle(at);
    assert.equal(await name(at), id);
    assert.equal(await at.locator("form.approval").count(), 1);
    assert.equal(await at.locator("#messages .message.user").textContent(), "You: Please refund it.");
    const card = at.locator("#messages details.tool", { hasText: "refund" });
    assert.ok((await card.textContent()).includes('"number": "1042"'), await card.textContent());
    assert.equal(await card.locator(".state").textContent(), "waits");
    assert.equal(bodies.length, requests, "the page has sent a request to the model");
  }

  return {
    async "a call that waits is approved after the page was loaded again"() {
      const at = await page();
      await ask(at, "Please refund it.");
      const [id, requests] = [await name(at), bodies.length];
      await at.reload();
      await waits(at, id, requests);
      await at.getByRole("button", { name: "Approve", exact: true }).click();
      await said(at, "is on its way");
      await idle(at);
      assert.equal(lastResult(), "order 1042 is refunded");
      assert.equal(await at.locator("form.approval").count(), 0);
      assert.equal(await at.locator("#messages details.tool .state").textContent(), "done");
      assert.equal((await api(at, `/api/memory/${encodeURIComponent(id)}`)).open_turn, null);
      await at.reload();
      await said(at, "is on its way");
      assert.equal(await at.locator("form.approval").count(), 0);
      await at.context().close();
    },
    async "a call that waits is denied after its conversation was selected"() {
      const first = await page();
      await ask(first, "Please refund it.");
      const [id, requests] = [await name(first), bodies.length];
      const at = await page();
      await at.locator("button.conversation", { hasText: id.split(":")[1] }).click();
      await waits(at, id, requests);
      // Enter in the reason does not approve.
      await at.getByLabel("Reason of a denial").fill("too late");
      await at.getByLabel("Reason of a denial").press("Enter");
      await said(at, "too late");
      await idle(at);
      assert.equal(lastResult(), "the call was denied: too late");
      // The first page decides late.
      await first.getByRole("button", { name: "Approve", exact: true }).click();
      await first.locator(".note.bad").waitFor();
      assert.ok((await first.locator(".note.bad").textContent()).includes("no longer waits"));
      assert.equal(lastResult(), "the call was denied: too late");
      // The browser logs the status.
      assert.match(problems.pop(), /status of 409/);
      await at.context().close();
      await first.context().close();
    },
    async "a question of a tool is a form, and its answer reaches the tool"() {
      const at = await page();
      await ask(at, "Deliver it.");
      await at.reload();
      const form = at.locator("form.approval");
      await form.waitFor();
      await idle(at);
      assert.ok((await form.textContent()).includes("shop: Where shall the parcel go?"));
      const types = await form.locator("fieldset :is(input, select)").evaluateAll((fields) => fields.map((field) => `${field.type}${field.required ? "!" : ""}`));
      assert.deepEqual(types, ["text!", "select-one!", "checkbox", "checkbox", "checkbox", "email", "number", "checkbox", "select-one", "number"]);
      assert.equal(await form.getByLabel("Weight").inputValue(), "1.5");
      const described = await form.getByLabel("Name").evaluate((input) => document.getElementById(input.getAttribute("aria-describedby")).textContent);
      assert.equal(described, "As on the letter box.");
      // The browser rejects the form: a required field is empty, and a number is too large.
      const answer = form.getByRole("button", { name: "Answer", exact: true });
      await answer.click();
      await form.getByLabel("Name").fill("Ann <b>");
      await form.getByLabel("Floor").fill("41");
      await answer.click();
      assert.equal(await form.count(), 1);
      await form.getByLabel("Floor").fill("3");
      await form.getByLabel("Speed").selectOption({ label: "Express" });
      await form.getByLabel("Gift").check();
      await form.getByLabel("Tue").check();
      await answer.click();
      await said(at, "The tool said");
      await idle(at);
      const values = { name: "Ann <b>", floor: 3, weight: 1.5, speed: "exp", gift: true, days: ["Tue"] };
      assert.deepEqual(JSON.parse(lastResult()), [{ accept: values }]);
      await at.context().close();
    },
    async "a question of a tool is declined"() {
      const at = await page();
      await ask(at, "Deliver it.");
      await at.getByRole("button", { name: "Decline", exact: true }).click();
      await said(at, "The tool said");
      await idle(at);
      assert.deepEqual(JSON.parse(lastResult()), ["cancel"]);
      await at.context().close();
    },
    async "a hostile question is text, and can be declined"() {
      const at = await page();
      await ask(at, "Ask nonsense.");
      const form = at.locator("form.approval");
      assert.ok((await form.locator("p").first().textContent()).includes('<img src=x onerror="window.pwned=1"> [click](javascript:'));
      assert.equal(await form.locator("img, a, script, [onerror]").count(), 0);
      assert.equal(await form.locator(".fields > :not(legend)").count(), 5);
      await form.getByRole("button", { name: "Decline", exact: true }).click();
      await said(at, "The tool said");
      await idle(at);
      assert.deepEqual(JSON.parse(lastResult()), ["cancel"]);
      assert.equal(await at.evaluate(() => window.pwned), undefined);
      await at.context().close();
    },
    async "a web page that a tool asks to visit is shown, and not opened"() {
      const at = await page();
      await ask(at, "Send me the bill.");
      const form = at.locator("form.approval");
      assert.equal(await form.locator("a").getAttribute("href"), "https://pay.example/1042");
      assert.equal(await form.locator("a").getAttribute("rel"), "noopener noreferrer");
      await form.getByRole("button", { name: "Continue", exact: true }).click();
      await said(at, "The tool said");
      await idle(at);
      assert.deepEqual(JSON.parse(lastResult()), [{ accept: null }]);
      await at.context().close();
    },
    async "a message leaves the turn that waits as it is"() {
      const at = await page();
      await ask(at, "Please refund it.");
      const requests = bodies.length;
      await at.fill("#text", "Hello?");
      await at.press("#text", "Enter");
      await said(at, "an earlier turn of the conversation waits");
      await idle(at);
      assert.equal(bodies.length, requests);
      assert.equal(await at.locator("form.approval").count(), 1);
      await at.getByRole("button", { name: "Approve", exact: true }).click();
      await said(at, "is on its way");
      await idle(at);
      await at.context().close();
    },
    async "two calls that wait are decided in one form"() {
      const at = await page();
      await ask(at, "Please refund both.");
      await at.reload();
      const form = at.locator("form.approval");
      await form.waitFor();
      await idle(at);
      const second = form.locator(".decision").nth(1);
      await second.getByLabel("Reason of a denial").fill("paid in cash");
      // Enter chooses, and does not send.
      await second.getByLabel("Reason of a denial").press("Enter");
      assert.equal(await second.getByRole("radio", { name: "Deny" }).isChecked(), true);
      assert.equal(await form.count(), 1);
      await form.getByRole("button", { name: "Continue", exact: true }).click();
      await form.waitFor({ state: "detached" });
      await idle(at);
      assert.deepEqual(results(), ["order 1042 is refunded", "the call was denied: paid in cash"]);
      await at.context().close();
    },
    async "a tool asks after another call of the answer was denied"() {
      const at = await page();
      await ask(at, "Deliver and refund it.");
      const form = at.locator("form.approval");
      await form.getByRole("button", { name: "Deny", exact: true }).click();
      await form.getByRole("button", { name: "Decline", exact: true }).click();
      await said(at, "The tool said");
      await idle(at);
      assert.deepEqual(results(), ['["cancel"]', "the call was denied: the user did not approve it"]);
      await at.context().close();
    },
  };
}
