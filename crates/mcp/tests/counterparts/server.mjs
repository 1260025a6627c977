// A server of the official TypeScript SDK, in both eras: node server.mjs FOLDER VERSION [streamableHttp].
// By HTTP, it listens on the port of the environment variable PORT. The version is a part of a description.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, version, transport] = process.argv.slice(2);
const { resolve } = createRequire(join(folder, "node_modules", "none.js"));
const load = (name) => import(pathToFileURL(resolve(name)));
const { McpServer, createMcpHandler, fromJsonSchema } = await load("@modelcontextprotocol/server");
const { serveStdio } = await load("@modelcontextprotocol/server/stdio");
const { toNodeHandler } = await load("@modelcontextprotocol/node");

// A red pixel.
const PNG =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

const object = (properties) => fromJsonSchema({ type: "object", properties, required: Object.keys(properties) });
const text = (text) => ({ content: [{ type: "text", text }] });

let dropped = 0;

function build() {
    const server = new McpServer({ name: "typescript", version }, { capabilities: { tools: {} } });
    const tool = (name, description, inputs, call, outputSchema) =>
        server.registerTool(name, { description, inputSchema: object(inputs), outputSchema }, call);
    tool("echo", `Returns the text, version ${version}.`, { text: { type: "string" } }, async (input) => text(input.text));
    tool("fail", "Fails.", {}, async () => ({ ...text("sold out"), isError: true }));
    tool("pixel", "Returns an image.", {}, async () => ({
        content: [{ type: "image", data: PNG, mimeType: "image/png" }],
    }));
    const numbers = { a: { type: "integer" }, b: { type: "integer" } };
    const sum = async ({ a, b }) => ({ ...text("see below"), structuredContent: { sum: a + b } });
    tool("sum", "Adds two numbers.", numbers, sum, object({ sum: { type: "integer" } }));
    const report = async (context, progress, total) => {
        const progressToken = context.mcpReq._meta?.progressToken;
        await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
    };
    tool("steps", "Reports progress, and ends.", {}, async (_, context) => {
        for (let step = 1; step <= 4; step += 1) {
            await report(context, step, 4);
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
        return text("completed");
    });
    tool("endless", "Reports progress, and ends when it is cancelled.", {}, async (_, context) => {
        const { signal } = context.mcpReq;
        const cancelled = new Promise((resolve) => signal.addEventListener("abort", resolve));
        await report(context, 1, 2);
        await cancelled;
        dropped += 1;
        return text("cancelled");
    });
    tool("dropped", "Returns the number of cancelled calls.", {}, async () => text(`dropped: ${dropped}`));
    return server;
}

if (transport === "streamableHttp") {
    createServer(toNodeHandler(createMcpHandler(build))).listen(Number(process.env.PORT), "127.0.0.1");
} else {
    serveStdio(build);
}
