// Tests of the views of sources, verdicts, usage, cost and exports.
import assert from "node:assert/strict";
import { bodies } from "./provider.mjs";

/** The price of the server in this folder: currency units for a million tokens. */
const PRICE = { input: 2.5, output: 10 };
/** The usage of each answer of the provider. */
const USAGE = { input: 214, output: 96 };

const cost = (answers) => ((answers * (USAGE.input * PRICE.input + USAGE.output * PRICE.output)) / 1e6).toFixed(12).replace(/0+$/, "");

export function inspectorTests({ page, ask, inspected }) {
  const facts = (at) => at.locator("#panel-turn dl").first().evaluate((list) => Object.fromEntries([...list.querySelectorAll("dt")].map((term) => [term.textContent, term.nextElementSibling.textContent])));
  const part = (at, title) => at.locator("#panel-turn section", { has: at.getByRole("heading", { name: title, exact: true }) });

  return {
    async "sources, verdicts, usage and cost are those of the turn"() {
      const at = await page();
      await at.selectOption("#service", "support-checked");
      const from = bodies.length;
      await ask(at, "Is it cheap? My card is 4111111111111111");
      await inspected(at, 1);
      const answers = bodies.length - from;
      assert.equal(answers, 2);
      const shown = await facts(at);
      assert.equal(shown.Usage, `${answers * USAGE.input} input, ${answers * USAGE.output} output tokens`);
      assert.equal(shown.Cost, cost(answers));
      const tokens = await part(at, "Responses").locator("summary .end").allTextContents();
      assert.deepEqual(tokens, Array(2).fill(`${USAGE.input} → ${USAGE.output} tokens`));

      const sources = part(at, "Sources").locator("details");
      assert.deepEqual(await sources.locator("summary").allTextContents(), ["guide-70.912", "guide-90.507"]);
      assert.deepEqual(await sources.locator("pre").allTextContents(), ["Clean the blade of a pruning saw with a dry cloth after each use.", "Oil the hinge of a pruning saw once a year."]);
      const request = JSON.parse(bodies[from]).messages.at(-1).content;
      assert.ok(request.includes("Oil the hinge"), request);

      const verdicts = part(at, "Guardrails").locator("details");
      assert.deepEqual(await verdicts.locator("summary .name").allTextContents(), ["card_numbers", "discounts", "discounts"]);
      assert.deepEqual(await verdicts.locator("summary .state").allTextContents(), ["input: rewrite", "output: reprompt", "output: success"]);
      const [input, first] = await verdicts.locator("pre").allTextContents();
      assert.ok(input.includes("My card is [card]"), input);
      assert.ok(first.includes("the shop has no discounts") && first.includes("Answer without a promise"), first);
      // The rejected answer and the card number reach neither the chat nor the provider.
      const chat = await at.locator("#messages .parts").last().textContent();
      assert.ok(chat.includes("Clean the blade with a dry cloth.") && !chat.includes("90 %"), chat);
      assert.ok(!bodies.slice(from).join().includes("4111111111111111"));
      assert.ok((await at.locator("#messages details", { hasText: "2 sources" }).textContent()).includes("guide-7"));
      await at.context().close();
    },
    async "the cost is the price of all answers of a turn with tools"() {
      const at = await page();
      const from = bodies.length;
      await ask(at, "Where is my order?");
      await inspected(at, 1);
      assert.equal(bodies.length - from, 2);
      assert.equal((await facts(at)).Cost, cost(2));
      // The model of this service has no price.
      await at.selectOption("#service", "support-mini");
      await ask(at, "Hello");
      await inspected(at, 2);
      assert.equal((await facts(at)).Usage, `${USAGE.input} input, ${USAGE.output} output tokens`);
      await at.context().close();
    },
    async "a turn is exported in three forms"() {
      const at = await page();
      await ask(at, "Where is my order?");
      await inspected(at, 1);
      await at.click("#show-export");
      await at.locator("#export").waitFor();
      const text = () => at.locator("#export-text").textContent();
      assert.ok((await text()).includes("#[tokio::test]"));
      await at.click("#export-cassette");
      const lines = (await text()).trimEnd().split("\n").map((line) => JSON.parse(line));
      assert.deepEqual(lines.map((line) => Object.keys(line)[0]), ["capabilities", "request", "request"]);
      await at.click("#export-record");
      assert.equal(JSON.parse(await text()).method, "chat");
      await at.keyboard.press("Escape");
      await at.locator("#export").waitFor({ state: "hidden" });
      await at.context().close();
    },
  };
}
