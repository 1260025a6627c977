// Uses the page of a playground in Chromium. Arguments: the program to start, and a folder for screenshots, if they are
// wanted.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { attackTests } from "./attacks.mjs";
import { decisionTests } from "./decisions.mjs";
import { inspectorTests } from "./inspector.mjs";
import { HOSTILE, bodies, hold, provider } from "./provider.mjs";

const [program, screenshots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const fake = await provider();
const server = spawn(program, [fake.url], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const foreign = [];
const problems = [];

async function page(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("request", (request) => { if (!/^(http:\/\/127\.0\.0\.1[:/]|data:)/.test(request.url())) foreign.push(request.url()); });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(url);
  await page.locator("#service option").first().waitFor({ state: "attached" });
  return page;
}

const idle = (page) => page.locator("#send").waitFor({ state: "visible" });

async function send(page, text) {
  await page.fill("#text", text);
  await page.press("#text", "Enter");
}

async function ask(page, text) {
  const answered = page.locator("#status", { hasText: /complete|waits/ });
  await page.evaluate(() => { document.getElementById("status").textContent = ""; });
  await send(page, text);
  await answered.waitFor({ state: "attached" });
  await idle(page);
}

/** Waits until the inspector shows the newest turn. */
const inspected = (page, count) => page.waitForFunction((count) => document.querySelectorAll("#turns option").length === count && document.querySelector("#panel-turn .facts"), count);

/** Calls the interface of the page with its token. */
const api = (page, path) => page.evaluate((path) => json(path), path);

async function violations(page) {
  // The policy forbids scripts from text, so that the checker comes through the debugger.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const { result } = await session.send("Runtime.evaluate", {
    expression: "axe.run(document).then((result) => JSON.stringify(result.violations.map((each) => [each.id, each.nodes.map((node) => [node.target.join(' '), node.failureSummary])])))",
    awaitPromise: true,
  });
  return JSON.parse(result.value);
}

async function noOverflow(page) {
  const { wide, width } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, width: document.documentElement.clientWidth }));
  assert.ok(wide <= width, `the page is ${wide} px wide in a window of ${width} px`);
}

const tests = {
  async "the first piece is visible while the model writes"() {
    const at = await page();
    await send(at, "hold");
    await at.locator("#messages").getByText("The first piece").last().waitFor();
    assert.equal(await at.locator("#stop").isVisible(), true);
    assert.equal(await at.locator("#messages").getByText("and the rest").count(), 0);
    hold.release();
    await at.locator("#messages").getByText("The first piece and the rest.").last().waitFor();
    await idle(at);
    await at.context().close();
  },
  async "the shown request equals the bytes of the provider"() {
    const at = await page();
    const from = bodies.length;
    await ask(at, "Where is my order? ü \"quoted\"");
    await inspected(at, 1);
    const sent = bodies.slice(from);
    assert.equal(sent.length, 2);
    for (const [index, body] of sent.entries()) {
      const view = at.locator(`[data-body="${index}.0"]`);
      const fold = at.locator("details", { has: view });
      await fold.locator("summary").click();
      assert.deepEqual(JSON.parse(await view.textContent()), JSON.parse(body));
      await fold.getByRole("button", { name: "Raw bytes" }).click();
      assert.equal(await view.textContent(), body);
    }
    const card = at.locator("#messages details.tool", { hasText: "order" });
    await card.locator("summary").click();
    const text = await card.textContent();
    assert.ok(text.includes('"number": "1042"') && text.includes("Pruning saw") && /\d (µs|ms|s)/.test(text), text);
    await at.context().close();
  },
  async "the memory panel equals the store"() {
    const at = await page();
    await ask(at, "Hello!");
    await inspected(at, 1);
    const id = await at.locator("#conversation-name").textContent();
    const memory = await api(at, `/api/memory/${encodeURIComponent(id)}`);
    await at.click("#tab-memory");
    const rows = await at.locator(".memory-row .text").allTextContents();
    assert.deepEqual(rows, memory.messages.map(({ message }) => message.text ?? message.contents.map((part) => part.text).join("\n")));
    assert.ok((await at.locator("#panel-memory dd").allTextContents()).includes(String(memory.version)));
    await at.context().close();
  },
  async "a call is approved, and a call is denied"() {
    for (const [button, expected] of [["Approve", "is on its way"], ["Deny", "You wrote:"]]) {
      const at = await page();
      await ask(at, "Please refund it.");
      await at.getByRole("button", { name: button, exact: true }).click();
      if (button === "Approve") await at.locator("#messages").getByText(expected).last().waitFor();
      await at.waitForFunction(() => document.querySelectorAll("#turns option").length === 2);
      await idle(at);
      assert.equal(await at.locator("form.approval").count(), 0);
      await at.context().close();
    }
  },
  async "a turn is stopped"() {
    const at = await page();
    await send(at, "hold");
    await at.locator("#messages").getByText("The first piece").last().waitFor();
    await at.click("#stop");
    await at.locator("#messages").getByText("Stopped.").last().waitFor();
    await idle(at);
    const id = await at.locator("#conversation-name").textContent();
    assert.deepEqual((await api(at, `/api/memory/${encodeURIComponent(id)}`)).messages, []);
    await at.context().close();
  },
  async "a repetition with another text or model leaves the original unchanged"() {
    for (const { service = "support", text = "Second" } of [{ text: "Instead" }, { service: "support-mini" }]) {
      const at = await page();
      await ask(at, "First");
      await ask(at, "Second");
      await inspected(at, 2);
      const id = await at.locator("#conversation-name").textContent();
      const before = await api(at, `/api/memory/${encodeURIComponent(id)}`);
      await at.click("#repeat");
      assert.deepEqual([await at.inputValue("#rerun-service"), await at.inputValue("#rerun-text")], ["support", "Second"]);
      await at.selectOption("#rerun-service", service);
      await at.fill("#rerun-text", text);
      await at.click("#rerun-run");
      await at.locator("#messages").getByText(`You wrote: ${text}`).last().waitFor();
      await idle(at);
      assert.equal(await at.locator("#conversation-name").textContent(), `${id}~1`);
      assert.deepEqual(await api(at, `/api/memory/${encodeURIComponent(id)}`), before);
      const sent = JSON.parse(bodies.at(-1));
      assert.equal(sent.model, service);
      assert.deepEqual(sent.messages.filter(({ role }) => role === "user").map(({ content }) => content), ["First", text]);
      await at.context().close();
    }
  },
  async "a hostile answer runs nothing and loads nothing"() {
    const at = await page();
    await ask(at, "hostile");
    const answer = at.locator("#messages .markdown").last();
    assert.equal(await answer.locator("img, script, iframe, svg, [onerror], [onload]").count(), 0);
    assert.equal(await answer.locator('a[href^="javascript:"], a[href^="data:"]').count(), 0);
    assert.ok((await answer.textContent()).includes(HOSTILE.split("\n")[0]));
    await inspected(at, 1);
    // Also in the inspector, and as the history of a page that is loaded again.
    const harmless = async () => {
      for (const summary of await at.locator("#panel-turn summary").all()) await summary.click();
      for (const tab of ["memory", "turn"]) await at.click(`#tab-${tab}`);
      assert.equal(await at.locator("main :is(img, script, iframe, svg, [onerror], [onload], [href^='javascript:'], [href^='data:'])").count(), 0);
      assert.equal(await at.evaluate(() => window.pwned), undefined);
    };
    await harmless();
    await at.reload();
    await inspected(at, 1);
    assert.ok((await answer.textContent()).includes(HOSTILE.split("\n")[0]));
    await harmless();
    await ask(at, "large");
    assert.equal((await at.locator("#messages .plain").last().textContent()).length, 64 * 65536);
    assert.equal(await at.evaluate(() => window.pwned), undefined);
    await at.context().close();
  },
  async "the page needs no mouse"() {
    const at = await page();
    const focused = () => at.evaluate(() => document.activeElement.id || document.activeElement.textContent);
    assert.equal(await focused(), "text");
    await at.keyboard.type("Please refund it.");
    await at.keyboard.press("Enter");
    await at.locator("form.approval").waitFor();
    assert.equal(await focused(), "Approve");
    await at.keyboard.press("Enter");
    await at.locator("#messages").getByText("is on its way").last().waitFor();
    await idle(at);
    await inspected(at, 2);
    await at.focus("#text");
    // A question of a tool, after the page was loaded again.
    const press = async (...keys) => { for (const key of keys) await at.keyboard.press(key); };
    const name = await at.locator("#conversation-name").textContent();
    await at.keyboard.type("Deliver it.");
    await press("Enter");
    await at.locator("form.approval").waitFor();
    assert.equal(await at.evaluate(() => document.activeElement.labels[0].textContent.slice(0, 4)), "Name");
    await at.reload();
    await at.locator("form.approval").waitFor();
    await idle(at);
    assert.equal(await at.locator("#conversation-name").textContent(), name);
    assert.equal(await focused(), "text");
    while ((await at.evaluate(() => document.activeElement.labels?.[0]?.textContent.slice(0, 4))) !== "Name") await press("Shift+Tab");
    await at.keyboard.type("Ann");
    await press("Tab");
    await at.keyboard.type("Exp");
    await press("Shift+Tab", "Enter");
    await at.locator("#messages").getByText("The tool said").last().waitFor();
    assert.deepEqual(JSON.parse(JSON.parse(bodies.at(-1)).messages.at(-1).content)[0].accept, { name: "Ann", speed: "exp", weight: 1.5, gift: false, days: [] });
    await idle(at);
    // The dialogs.
    await inspected(at, 4);
    for (const [button, dialog] of [["repeat", "rerun"], ["show-export", "export"]]) {
      await at.focus(`#${button}`);
      await press("Enter");
      await at.locator(`#${dialog}`).waitFor();
      await press("Escape");
      await at.locator(`#${dialog}`).waitFor({ state: "hidden" });
      assert.equal(await focused(), button);
    }
    await at.focus("#tab-turn");
    await at.keyboard.press("ArrowRight");
    assert.equal(await focused(), "tab-memory");
    assert.equal(await at.locator("#panel-memory").isVisible(), true);
    const reached = new Set();
    await at.focus("#service");
    for (let step = 0; step < 40; step++) {
      reached.add(await focused());
      await at.keyboard.press("Tab");
    }
    for (const id of ["service", "user", "new", "text", "send", "turns"]) assert.ok(reached.has(id), id);
    await at.context().close();
  },
  async "the checker of accessibility finds nothing"() {
    for (const [name, options] of [
      ["light", { colorScheme: "light" }],
      ["dark", { colorScheme: "dark" }],
      ["320 px", { viewport: { width: 320, height: 640 } }],
      ["200 %", { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 }],
    ]) {
      const at = await page(options);
      const check = async (label) => {
        assert.deepEqual(await violations(at), [], `${name}, ${label}`);
        await noOverflow(at);
      };
      await ask(at, "Where is my order?");
      await ask(at, "Please refund it.");
      await inspected(at, 2);
      for (const summary of await at.locator("summary:visible").all()) await summary.click();
      for (const view of ["conversations", "chat", "inspector"]) {
        await at.evaluate((view) => setView(view), view);
        for (const tab of ["turn", "memory"]) {
          await at.evaluate((tab) => setTab(tab), tab);
          await check(`${view}, ${tab}`);
        }
      }
      // Sources, verdicts and cost, then a question of a tool, then questions of two.
      await at.evaluate(() => setTab("turn"));
      await at.selectOption("#service", "support-checked");
      await at.evaluate(() => begin());
      await ask(at, "Is it cheap? My card is 4111111111111111");
      await inspected(at, 1);
      await at.evaluate(() => setView("inspector"));
      for (const summary of await at.locator("#panel-turn summary").all()) await summary.click();
      await check("sources and verdicts");
      for (const text of ["Deliver it.", "Please refund both."]) {
        await at.evaluate(() => begin());
        await ask(at, text);
        await check(text);
      }
      await at.reload();
      await at.locator("form.approval").waitFor();
      await check("loaded again");
      await at.evaluate(() => find("show-export").click());
      await at.locator("#export").waitFor();
      await check("export");
      await at.evaluate(() => find("export-close").click());
      await at.evaluate(() => find("repeat").click());
      await at.locator("#rerun").waitFor();
      await check("dialog");
      await at.context().close();
    }
  },
};
Object.assign(tests, attackTests({ url }), decisionTests({ page, ask, idle, api, problems }), inspectorTests({ page, ask, inspected }));

async function takeScreenshots() {
  const shoot = async (at, name) => {
    // Carets blink, and bars of scrolling fade.
    await at.waitForTimeout(200);
    await at.screenshot({ path: `${screenshots}/${name}.png`, caret: "hide" });
  };
  for (const scheme of ["light", "dark"]) {
    const at = await page({ colorScheme: scheme, viewport: { width: 1360, height: 850 } });
    await ask(at, "Where is my order 1042?");
    await inspected(at, 1);
    await at.locator("#messages details.tool summary").first().click();
    await ask(at, "Please refund it.");
    await inspected(at, 2);
    await at.selectOption("#turns", { index: 1 });
    await shoot(at, scheme);
    await at.context().close();
  }
  const at = await page({ colorScheme: "light", viewport: { width: 1360, height: 850 } });
  await at.selectOption("#service", "support-checked");
  await ask(at, "Is it cheap to clean a saw? My card is 4111111111111111");
  await inspected(at, 1);
  for (const name of ["guide-7", "discounts"]) await at.locator("#panel-turn summary", { hasText: name }).first().click();
  await at.locator("#panel-turn details[open]").last().scrollIntoViewIfNeeded();
  await ask(at, "Deliver it.");
  await inspected(at, 2);
  await at.selectOption("#turns", { index: 1 });
  for (const name of ["guide-7", "discounts"]) await at.locator("#panel-turn summary", { hasText: name }).first().click();
  await at.evaluate(() => { find("panel-turn").scrollTop = find("panel-turn").scrollHeight; });
  await shoot(at, "checks");
  await at.click("#show-export");
  await at.locator("#export").waitFor();
  await shoot(at, "export");
  await at.context().close();
  const narrow = await page({ colorScheme: "dark", viewport: { width: 390, height: 780 } });
  await ask(narrow, "Please refund both.");
  await shoot(narrow, "narrow");
  await narrow.context().close();
}

let failed = 0;
try {
  if (screenshots) await takeScreenshots();
  const only = process.env.PLAYGROUND_TEST || "";
  for (const [name, test] of Object.entries(screenshots ? {} : tests).filter(([name]) => name.includes(only))) {
    const start = performance.now();
    try {
      await test();
      console.log(`ok   ${name} (${Math.round(performance.now() - start)} ms)`);
    } catch (error) {
      failed += 1;
      console.error(`FAIL ${name}\n${error.stack}`);
    }
  }
  assert.deepEqual(foreign, [], "requests to other hosts");
  assert.deepEqual(problems, [], "errors of the page");
} finally {
  await browser.close();
  server.kill();
  fake.close();
}
process.exitCode = failed ? 1 : 0;
