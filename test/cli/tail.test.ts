import { afterAll, beforeAll, expect, test } from "vitest";
import type { FrameView } from "../../src/index.ts";
import { type RunOptions, Stage } from "./stage.ts";

const UNKNOWN = `ex_${"0".repeat(32)}_0`;

let stage: Stage;
let goOn = () => {};
beforeAll(async () => {
	stage = await Stage.open();
	const worker = stage.ff.worker({ lanes: ["work"], handleSignals: false });
	worker.handle("story", async (ctx) => {
		await ctx.stream.write("Once upon");
		await ctx.stream.flush();
		await new Promise<void>((resolve) => (goOn = resolve));
		await ctx.stream.write(" a time.\nThe");
		await ctx.stream.event("tool", { name: "look\u001bup" });
		await ctx.stream.event("image", new Uint8Array(3));
		await ctx.stream.summary({ words: 5 });
		await ctx.stream.write("end");
	});
	worker.handle("twice", async (ctx) => {
		await ctx.stream.write(`draft ${ctx.attempt.index}`);
		if (ctx.attempt.index === 0) throw new Error("not good enough");
	});
	worker.handle("fails", async (ctx) => {
		await ctx.stream.write("so far so good");
		throw new Error("the disk is full");
	});
	worker.handle("escapes", (ctx) => ctx.stream.write("a\u001b[31mb\u202ec\r\nd\te"));
	await worker.start();
});
afterAll(() => stage.close());

const submit = async (kind: string, policy = {}): Promise<string> =>
	(await stage.ff.submit(kind, undefined, { lane: "work", policy })).id;
const tail = (args: readonly string[], options: RunOptions = {}) =>
	stage.run(["tail", ...args], { ...options, env: { NO_COLOR: "1" } });
const framesIn = (out: string): FrameView[] =>
	out
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line) as FrameView);

test("shows text as it comes, other frames on lines of their own, and ends with the execution", async () => {
	const id = await submit("story");
	const { out, err, code } = await tail([id], { onOut: (all) => all === "Once upon" && goOn() });
	expect(out).toBe(
		'Once upon a time.\nThe\n[tool] {"name":"look\\u001bup"}\n[image] 3 bytes\n[patch] {"words":5}\nend\n',
	);
	expect([err, code]).toEqual([`${id} completed\n`, 0]);
});

test("marks a new attempt", async () => {
	const id = await submit("twice", { retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 0 } } });
	const { out, code } = await tail([id]);
	expect([out, code]).toEqual(["draft 0\n--- attempt 1 ---\ndraft 1\n", 0]);
	expect((await tail([id, "--attempt", "1"])).out).toBe("draft 1\n");
});

test("what did not end well is told, with an exit code of its own", async () => {
	const id = await submit("fails");
	expect(await tail([id])).toEqual({ code: 6, out: "so far so good\n", err: `${id} failed: the disk is full\n` });
});

test("--json gives one frame a line, and nothing else", async () => {
	const id = await submit("twice", { retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 0 } } });
	const { out, err, code } = await tail([id, "--json"]);
	expect([err, code]).toEqual(["", 0]);
	expect(framesIn(out)).toMatchObject([
		{ text: "draft 0", attempt: 0, mode: "durable" },
		{ text: "draft 1", attempt: 1, isNewAttempt: true },
	]);
});

test("--after goes on behind a frame", async () => {
	const id = await submit("story");
	await tail([id], { onOut: (all) => all === "Once upon" && goOn() });
	const [first] = framesIn((await tail([id, "--json"])).out);
	expect((await tail([id, "--after", first?.id ?? ""])).out).toMatch(/^ a time\.\n/);
	expect((await tail([id, "--after", "end"])).out).toBe("");
});

test("Ctrl-C ends it, and the work goes on", async () => {
	const id = await submit("story");
	const stop = new AbortController();
	const said = await tail([id], { stop: stop.signal, onOut: (all) => all.includes("upon") && stop.abort() });
	expect(said).toEqual({ code: 0, out: "Once upon\n", err: "" });
	expect((await stage.ff.get(id)).publicState).toBe("active");
	goOn();
	await stage.ff.wait(id);
});

test("what a handler wrote does not get at the terminal; a pipe is given it as it is", async () => {
	const id = await submit("escapes");
	expect((await tail([id], { tty: true })).out).toBe("a\\u001b[31mb\\u202ec\nd\te\n");
	expect((await tail([id])).out).toBe("a\u001b[31mb\u202ec\r\nd\te\n");
});

test("what is not there is told as such", async () => {
	expect(await tail([UNKNOWN])).toMatchObject({ code: 3, out: "" });
	const id = await submit("fails");
	await stage.ff.wait(id);
	expect(await tail([id, "--attempt", "4"])).toMatchObject({
		code: 3,
		err: expect.stringContaining("attempt_not_found"),
	});
	expect(await tail([id, "--attempt", "x"])).toMatchObject({ code: 2 });
	expect(await tail([id, "--after", "there"])).toMatchObject({ code: 2 });
});
