// Requests of other web pages, from a browser.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { chromium } from "playwright-core";

export function attackTests({ url }) {
  const target = new URL(url);
  const token = target.hash.slice(1);

  /** Opens a page of another server, under a name that leads to this machine. */
  async function foreignPage(use) {
    const server = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Evil</title>"));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP evil.test 127.0.0.1"] });
    try {
      const page = await browser.newPage();
      await page.goto(`http://evil.test:${server.address().port}/`);
      await use(page);
    } finally {
      await browser.close();
      server.close();
    }
  }

  return {
    async "a web page cannot give its own name to the playground"() {
      await foreignPage(async (page) => {
        const response = await page.goto(`http://evil.test:${target.port}/#${token}`);
        assert.equal(response.status(), 421);
        const status = await page.evaluate(async (token) => (await fetch("/api/turns", { headers: { "x-playground-token": token } })).status, token);
        assert.equal(status, 421);
      });
    },
    async "another web page can neither send nor read"() {
      await foreignPage(async (page) => {
        const origin = target.origin;
        // The browser hides the responses from the page, and from events of the page.
        const session = await page.context().newCDPSession(page);
        await session.send("Network.enable");
        const statusOf = async (path, act) => {
          // The two events of a request come in any order.
          const [addresses, statuses] = [new Map(), new Map()];
          const status = new Promise((resolve, reject) => {
            setTimeout(() => reject(new Error(`no response of ${path}`)), 30_000).unref();
            const look = () => { for (const [id, address] of addresses) if (address === `${origin}${path}` && statuses.has(id)) resolve(statuses.get(id)); };
            session.on("Network.requestWillBeSent", ({ requestId, request }) => look(addresses.set(requestId, request.url)));
            session.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => look(statuses.set(requestId, statusCode)));
          });
          await act(`${origin}${path}`);
          return status;
        };
        for (const [index, type] of ["text/plain", "application/x-www-form-urlencoded"].entries()) {
          const send = (url) => page.evaluate(([url, type]) => fetch(url, { method: "POST", mode: "no-cors", headers: { "content-type": type }, body: "{}" }).catch(() => {}), [url, type]);
          assert.equal(await statusOf(`/ag-ui/support?${index}`, send), 403, type);
        }
        // The preflight of a request with the token is not answered with a permission.
        const read = await page.evaluate(([url, token]) => fetch(url, { headers: { "x-playground-token": token } }).then(() => "read", () => "refused"), [`${origin}/api/turns`, token]);
        assert.equal(read, "refused");
        // Neither is the page shown in a frame.
        const [frame] = await Promise.all([
          page.waitForEvent("framenavigated", (frame) => frame !== page.mainFrame()),
          page.evaluate((url) => document.body.append(Object.assign(document.createElement("iframe"), { src: url })), `${origin}/`),
        ]);
        assert.ok(!frame.url().startsWith(origin), frame.url());
        // A form that navigates.
        const submit = (url) => page.evaluate((url) => {
          const form = Object.assign(document.createElement("form"), { method: "post", action: url });
          document.body.append(form);
          form.submit();
        }, url);
        assert.equal(await statusOf("/v1/chat/completions", submit), 403);
      });
    },
  };
}
