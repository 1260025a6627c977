// The parts that the clients share: the turns of the file, the expected texts, and a table of the results.
import assert from "node:assert/strict";
import fs from "node:fs";

export const base = process.argv[2];
export const turns = JSON.parse(fs.readFileSync(new URL("turns.json", import.meta.url)));

/** The texts that a client gets: the one before tool calls, and the answer. */
export const texts = (turn) => [turn.earlier ?? "", turn.text].filter((text) => text !== "");
export const fails = (turn) => turn.kind === "error" || turn.kind === "broken";
/** The text of an error, which repeats no detail of it. */
export const errorText = (turn) =>
  turn.kind === "error" ? "the model is not available now" : "the model gave no usable answer";
/** Checks the error that a client reports. */
export function checkError(turn, error) {
  assert(String(error).includes(errorText(turn)), String(error));
  assert(!String(error).includes("secret-7"), String(error));
}

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

/** Runs checks of turns that wait for approval. Each uses orders and conversations of its own. */
export async function runApprovals(name, checks) {
  const titles = Object.keys(checks);
  let failed = 0;
  for (const [number, title] of titles.entries()) {
    try {
      await checks[title](`${name.replace(/[^a-z0-9]/gi, "-")}-${number}`);
    } catch (error) {
      failed += 1;
      console.error(`${name}: ${title}: ${error.message ?? error}`);
    }
  }
  console.log(`${name}: ${titles.length - failed} of ${titles.length} approvals`);
  if (failed > 0) process.exitCode = 1;
}

/** Variants of an id that the server has not given to a client. `other` is the id of another conversation. */
export function forgeries(id, other) {
  const [conversation, position, kind, call, ...rest] = id.split(".");
  const [, otherPosition] = other.split(".");
  const joined = (...parts) => [...parts, ...rest].join(".");
  return [
    { id: "forged", status: 404, code: "decision_not_found" },
    { id: other, status: 404, code: "decision_not_found" },
    { id: joined(conversation, otherPosition, kind, call), status: 409, code: "conflict" },
    { id: joined(conversation, position, kind, "7"), status: 400, code: "incomplete_decisions" },
  ];
}
