// Calls this project's server with the official TypeScript client: node client.mjs FOLDER PROGRAM.
// Prints a line for each check: the client, the check, and `ok` or the failure, separated by tabs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, program] = process.argv.slice(2);
const { resolve } = createRequire(join(folder, "node_modules", "none.js"));
const load = (name) => import(pathToFileURL(resolve(name)));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const eras = { "2025-11-25": "legacy", "2026-07-28": { pin: "2026-07-28" } };
const transports = {
    async stdio() {
        return { transport: new StdioClientTransport({ command: program, args: ["stdio"] }), stop() {} };
    },
    async http() {
        const server = spawn(program, ["http"], { stdio: ["ignore", "pipe", "inherit"] });
        const [url] = await once(createInterface(server.stdout), "line");
        return { transport: new StreamableHTTPClientTransport(new URL(url)), stop: () => server.kill() };
    },
};

function expect(condition, value) {
    if (!condition) throw new Error(`unexpected: ${JSON.stringify(value)}`);
}

async function text(client, name, args = {}) {
    const result = await client.callTool({ name, arguments: args });
    expect(!result.isError && result.content[0].type === "text", result);
    return result.content[0].text;
}

async function fails(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    throw new Error("the call succeeded");
}

const checks = {
    async list(client) {
        const { tools } = await client.listTools();
        const names = tools.map((tool) => tool.name).sort().join(" ");
        expect(names === "dropped echo endless fail pixel process_id sum", names);
    },
    async call(client) {
        expect((await text(client, "echo", { text: "hello" })) === "hello");
    },
    async error(client) {
        const result = await client.callTool({ name: "fail", arguments: {} });
        expect(result.isError && result.content[0].text.includes("sold out"), result);
    },
    async image(client) {
        const [block] = (await client.callTool({ name: "pixel", arguments: {} })).content;
        expect(block.type === "image" && block.mimeType === "image/png" && block.data.length > 50, block);
    },
    async structured(client) {
        const result = await client.callTool({ name: "sum", arguments: { a: 1, b: 2 } });
        expect(result.structuredContent?.sum === 3, result);
    },
    // A call that reports progress is cancelled; the tool is dropped.
    async "progress, cancel"(client) {
        const cancel = new AbortController();
        const seen = [];
        const onprogress = (progress) => {
            seen.push(progress);
            if (seen.length === 3) cancel.abort();
        };
        await fails(client.callTool({ name: "endless", arguments: {} }, { onprogress, signal: cancel.signal }));
        expect(seen.length === 3 && seen[2].progress === 3 && seen[2].total === 3, seen);
        for (let attempt = 0; (await text(client, "dropped")) !== "1"; attempt += 1) {
            expect(attempt < 100, "the tool still runs");
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    },
    async killed(client) {
        const server = Number(await text(client, "process_id"));
        const onprogress = () => process.kill(server, "SIGKILL");
        await fails(client.callTool({ name: "endless", arguments: {} }, { onprogress, timeout: 10_000 }));
    },
};

async function run(name, check, start, mode) {
    const { transport, stop } = await start();
    const client = new Client({ name: "counterparts", version: "1" }, { versionNegotiation: { mode } });
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error("no end after 30 seconds")), 30_000);
    });
    try {
        await Promise.race([late, client.connect(transport).then(() => check(client))]);
        console.log(`${name}\tok`);
    } catch (error) {
        console.log(`${name}\t${String(error).replaceAll(/\s+/g, " ")}`);
    } finally {
        clearTimeout(timer);
        await client.close().catch(() => {});
        stop();
    }
}

for (const [over, start] of Object.entries(transports)) {
    for (const [era, mode] of Object.entries(eras)) {
        for (const [name, check] of Object.entries(checks)) {
            await run(`client typescript ${over} ${era}\t${name}`, check, start, mode);
        }
    }
}
process.exit(0);
