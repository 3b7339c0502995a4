import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test, vi } from "vitest";
import { logTo } from "../../src/cli/log.ts";
import { makeLog } from "../../src/server/log.ts";
import { logOfRun, plainLogger, quietLogger } from "../../src/worker/logger.ts";
import { Stand } from "./stand.ts";

const HOSTILE = "evil\u001b[2J\u009b1m\u0007\u007f\u202egnp\u2066\u200f\u061c\u200b\ufeff\u2028\r\nFORGED line";
const RAW =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
	/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

function expectPlain(text: string): void {
	expect(RAW.exec(text)?.[0]).toBeUndefined();
	expect(text.split("\n").filter((line) => line.startsWith("FORGED"))).toEqual([]);
	expect(text).toContain("u202e");
}

test("lines of JSON hold no character that could do harm, and read as what was written", async () => {
	const lines: string[] = [];
	const log = makeLog({ write: (line) => void lines.push(line) });
	const stand = await Stand.open({ log });
	const filter = { kind: HOSTILE, tag: `note:${HOSTILE}` };
	await stand.call("POST", "/v1/executions/bulk", { body: { filter, action: "cancel" } });
	await stand.call("POST", `/v1/lanes/${encodeURIComponent(HOSTILE)}/pause`);
	log.error({ err: new Error(HOSTILE), [HOSTILE]: HOSTILE }, HOSTILE);
	expectPlain(lines.join(""));
	const told = lines.map((line) => JSON.parse(line));
	expect(told.find(({ what }) => what === "bulk").filter.kind).toBe(HOSTILE);
	expect(told.at(-1)).toMatchObject({ msg: HOSTILE, err: { message: HOSTILE }, [HOSTILE]: HOSTILE });
});

test.each([true, false])("lines for people do the same, with colours: %s", (isTTY) => {
	let text = "";
	const output = { isTTY, write: (chunk: string | Uint8Array) => (text += chunk.toString()) };
	const log = logTo(output, { logLevel: "info", logFormat: "pretty" });
	log.warn({ target: HOSTILE, filter: { kind: [HOSTILE] }, [HOSTILE]: 1, err: new Error(HOSTILE) }, HOSTILE);
	log.info(HOSTILE);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: its own colours
	const plain = text.replace(/\u001b\[\d+m/g, "");
	expect(plain !== text).toBe(isTTY);
	expectPlain(plain);
});

test("a worker's lines do the same, whether it was given a logger or not", () => {
	let text = "";
	const spied = vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
		text += chunk.toString();
		return true;
	});
	onTestFinished(() => spied.mockRestore());
	const said: string[] = [];
	const say = (message: string) => void said.push(message);
	const given = plainLogger({ debug: say, info: say, warn: say, error: say });
	for (const log of [quietLogger, given]) {
		const ofRun = logOfRun(log, { kind: HOSTILE, executionId: "ex_1", attempt: 1 });
		ofRun.warn(HOSTILE);
		ofRun.error(new Error(HOSTILE), HOSTILE);
		ofRun.warn({ field: HOSTILE }, HOSTILE);
	}
	expect(said).toHaveLength(3);
	expectPlain(text);
	expectPlain(said.join("\n"));
});

test("the page of the docs shows answers in the same way", () => {
	const source = readFileSync(new URL("../../src/server/docs-page/page.js", import.meta.url), "utf8");
	const [parts] = /const HARMFUL =[\s\S]*?\nfunction harmless[\s\S]*?\n}\n/.exec(source) ?? [];
	const shown = runInNewContext(`${parts}harmless(given)`, { given: HOSTILE.replace("\r\n", " ") });
	expectPlain(shown);
	expect(source).toContain("harmless(pretty(text))");
	expect(source).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write/);
});
