// What the clients share: the turns of the file, the expected texts, and a table of the results.
import assert from "node:assert/strict";
import fs from "node:fs";

export const base = process.argv[2];
export const turns = JSON.parse(fs.readFileSync(new URL("turns.json", import.meta.url)));

/** The texts that a client gets: the one before tool calls, and the answer. */
export const texts = (turn) => [turn.earlier ?? "", turn.text].filter((text) => text !== "");
export const fails = (turn) => turn.kind === "error" || turn.kind === "broken";
/** The server repeats no detail of an error. */
export const checkError = (error) => assert(!String(error).includes("secret-7"), String(error));

export async function run(name, check) {
  let failed = 0;
  for (const turn of turns) {
    try {
      await check(turn);
    } catch (error) {
      failed += 1;
      console.error(`${name}: ${turn.message} (${turn.kind}): ${error.message ?? error}`);
    }
  }
  console.log(`${name}: ${turns.length - failed} of ${turns.length} turns`);
  if (failed > 0) process.exitCode = 1;
}
