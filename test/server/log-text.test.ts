import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import pino from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { logTo } from "../../src/cli/log.ts";
import { harmlessFields } from "../../src/contract/harmless-lines.ts";
import { FlowFabric, TerminalError } from "../../src/index.ts";
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

/** Whoever shows a field sees to its line ends, as it is part of a line. */
const inOneLine = (text: string): string => text.replaceAll("\n", " ");

/** A pino logger of somebody else, who writes lines as they come. */
function ownPino(lines: string[]): pino.Logger {
	return pino({ level: "debug" }, { write: (line) => void lines.push(line) });
}

test("a server's lines do the same in a logger of one's own", async () => {
	const lines: string[] = [];
	const stand = await Stand.open({ log: ownPino(lines) });
	const filter = { kind: HOSTILE, tag: `note:${HOSTILE}` };
	await stand.call("POST", "/v1/executions/bulk", { body: { filter, action: "cancel" } });
	await stand.call("POST", `/v1/lanes/${encodeURIComponent(HOSTILE)}/pause`);
	expectPlain(lines.join(""));
	const told = lines.map((line) => JSON.parse(line));
	expect(told.filter(({ audit }) => audit).map(({ what }) => what)).toEqual(["bulk", "lane-pause"]);
	expectPlain(told.map(({ target, filter }) => inOneLine(`${target} ${filter?.kind}`)).join("\n"));
});

test("a worker's lines do the same in a logger of one's own, in fields, errors and messages", async () => {
	const lines: string[] = [];
	const ff = await FlowFabric.open("memory:");
	onTestFinished(() => ff.close());
	const worker = ff.worker({ handleSignals: false, log: ownPino(lines) });
	const at = new Date(0);
	worker.handle(HOSTILE, async (ctx) => {
		const error = Object.assign(new TypeError(HOSTILE, { cause: new Error(HOSTILE) }), { code: HOSTILE });
		ctx.log.info(HOSTILE);
		ctx.log.warn({ [HOSTILE]: [HOSTILE], deep: { at, text: HOSTILE }, plain: { n: 1 } }, HOSTILE);
		ctx.log.error(error);
		throw new TerminalError(HOSTILE);
	});
	await worker.start();
	await (await ff.submit(HOSTILE, {})).result().catch(() => {});
	await worker.stop();
	expectPlain(lines.join(""));
	const told = lines.map((line) => JSON.parse(line));
	const of = (level: number) => told.filter((line) => line.level === level);
	expectPlain(told.map(({ kind, msg }) => `${inOneLine(kind)} ${msg}`).join("\n"));
	expect(of(40)[0]).toMatchObject({ executionId: expect.any(String), attempt: 0, plain: { n: 1 } });
	expect(of(40)[0].deep).toMatchObject({ at: at.toJSON(), text: expect.stringContaining("\\u202e") });
	expect(of(50)[0].err).toMatchObject({ type: "TypeError", code: expect.stringContaining("\\u202e") });
	expectPlain(JSON.stringify(of(50)[0].err));
});

test("our own log, given to a worker, writes what was written, once", () => {
	const lines: string[] = [];
	const log = plainLogger(makeLog({ write: (line) => void lines.push(line) }));
	log.warn(HOSTILE);
	logOfRun(log, { kind: HOSTILE, executionId: "ex_1", attempt: 1 }).warn({ text: HOSTILE }, HOSTILE);
	const told = lines.map((line) => JSON.parse(line));
	expect(told).toMatchObject([{ msg: HOSTILE }, { kind: HOSTILE, text: HOSTILE, msg: HOSTILE }]);
	expectPlain(lines.join(""));
});

test("fields that hold nothing harmful stay the very same, and those within themselves end", () => {
	const round: Record<string, unknown> = { n: 1 };
	const fields = { a: [1, { b: "text" }], error: new Error("x"), at: new Date(0), map: new Map([["k", HOSTILE]]) };
	expect(harmlessFields(fields)).toBe(fields);
	round["self"] = round;
	expectPlain(JSON.stringify(harmlessFields({ round, text: HOSTILE })));
});

test("the page of the docs shows answers in the same way", () => {
	const source = readFileSync(new URL("../../src/server/docs-page/page.js", import.meta.url), "utf8");
	const [parts] = /const HARMFUL =[\s\S]*?\nfunction harmless[\s\S]*?\n}\n/.exec(source) ?? [];
	const shown = runInNewContext(`${parts}harmless(given)`, { given: HOSTILE.replace("\r\n", " ") });
	expectPlain(shown);
	expect(source).toContain("harmless(pretty(text))");
	expect(source).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write/);
});
