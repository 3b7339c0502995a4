import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { Stage } from "../cli/stage.ts";
import { Program } from "./processes.ts";
import { blockAfter, loosely, type ShellStep, shellSteps } from "./readme-blocks.ts";
import { storeBeds } from "./store-beds.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a program in an empty folder, as somebody would who has just copied it. */
async function output(program: string): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-example-"));
	try {
		const { stdout } = await run(process.execPath, [join(root, program)], { cwd: folder, timeout: 60_000 });
		return stdout;
	} finally {
		await rm(folder, { recursive: true });
	}
}

test("the README's first program is examples/hello.mjs and prints what the README says", async () => {
	const readme = await readFile(join(root, "README.md"), "utf8");
	const shown = blockAfter(readme, "example: hello.mjs");
	const promised = /It prints\n\n```text\n([\s\S]*?)```/.exec(readme)?.[1];
	expect(shown).toBe(await readFile(join(root, "examples/hello.mjs"), "utf8"));
	expect(await output("examples/hello.mjs")).toBe(promised);
});

test("examples/order.ts does what it says", async () => {
	expect(await output(".build/examples/order.js")).toBe(
		[
			"submitted twice, one execution: true",
			"receipt: A-17-1250",
			"failed: order A-18: there is nothing to charge",
			"cancelled: the customer changed their mind",
			"",
		].join("\n"),
	);
});

test("examples/agents.ts stops who spends too much, and tells who spent what", async () => {
	const printed = (await output(".build/examples/agents.js")).replace(/; by ex_.*/, "; by …");
	expect(printed).toBe(
		[
			"ada: ada, answer 3 is final",
			"bob: bob, answer 2 is final",
			"carol: 3300 tokens are spent of 3000 we meant to",
			"carol: 3800 tokens are spent of 3000 we meant to",
			"carol: cancelled in turn 5",
			"dave waits: budget research: tokens 3800/4000, report of 500 refused; by …",
			"dave: 3900 tokens are spent of 3000 we meant to",
			"dave: dave, answer 1",
			"",
			"AGENT  CALLS  TOKENS",
			"ada        3    1200",
			"bob        2     600",
			"carol      4    2000",
			"dave       1     100",
			"all       10    3900 of 5000",
			"",
		].join("\n"),
	);
});

test("examples/approving-agent.ts asks a person, and goes on where it stopped", async () => {
	expect(await output(".build/examples/approving-agent.js")).toBe(
		[
			"refund: wants to refund 4900 cents, waiting for approval",
			"refund: wants to refund 4900 cents, waiting for approval",
			"Dear Ada, we refund you. (decided by Carol)",
			"Dear Bob, we are sorry: blue is what you ordered. (decided by Carol)",
			"refunds: Ada 4900",
			"handlers ran 4 times, the model was asked 4 times",
			"",
		].join("\n"),
	);
});

test("examples/llm-budget.ts asks when the budget is spent, and pays for nothing twice", async () => {
	expect(await output(".build/examples/llm-budget.js")).toBe(
		[
			"budget:research asks: budget research: tokens 900/1000, report of 300 refused",
			"again: budget research: tokens 1500/1500, report of 300 refused",
			"notes: 6",
			"failed: budget research: to go on was rejected",
			"1800 tokens are paid for; the model was asked 7 times",
			"",
		].join("\n"),
	);
});

test("examples/two-of-three.ts counts everybody once", async () => {
	expect(await output(".build/examples/two-of-three.js")).toBe(
		[
			"1.0: ann says approve: appended",
			"1.0: ann says approve: appended_duplicate",
			"1.0: bob says reject: appended",
			"1.0: cid says approve: resumed",
			"1.0: released by ann and cid",
			"1.1: ann says approve: appended",
			"1.1: bob says reject: appended",
			"1.1: cid says reject: resumed",
			"1.1: held back by bob and cid",
			"",
		].join("\n"),
	);
});

test("examples/callback.ts is called back by somebody who knows nothing but a URL", async () => {
	expect(await output(".build/examples/callback.js")).toBe(
		[
			"A-17: waiting for a signal",
			"the provider calls back: 200 resumed",
			'A-17 is paid: {"cents":1250,"method":"card"}',
			"the provider calls once more: 409 waitpoint_closed",
			"",
		].join("\n"),
	);
});

test("examples/streaming-agent.ts is followed over a suspension and a new attempt, and says nothing twice", async () => {
	expect(await output(".build/examples/streaming-agent.js")).toBe(
		[
			"Dear Ada, your parcel was lost. ",
			'[question] {"text":"refund Ada?"}',
			"--- goes on ---",
			'[patch] {"refund":true,"by":"Carol"}',
			"--- attempt 1 ---",
			'[patch] {"refund":true,"by":"Carol"}',
			"You get your money back. ",
			"result: Dear Ada, your parcel was lost. You get your money back.",
			'the model was asked 2 times; summary: {"refund":true,"by":"Carol"}',
			"",
		].join("\n"),
	);
});

test("examples/flow-release.ts releases what two people agree on, and calls off what is broken", async () => {
	expect(await output(".build/examples/flow-release.js")).toBe(
		[
			"deploying shop:1.0, as Ann and Bob said",
			"verifying https://shop.1.0.example",
			"1.0 completed: build completed, unit completed, browser completed, load completed, agree completed, deploy completed, verify completed",
			"1.1 cancelled: build completed, unit failed, browser cancelled, load cancelled, agree skipped, deploy skipped, verify skipped",
			"",
		].join("\n"),
	);
});

test("examples/flow-race.ts takes the first answer, and stops the others", async () => {
	expect(await output(".build/examples/flow-race.js")).toBe(
		[
			"small won: Is it safe? Yes, says small.",
			"small completed",
			"large cancelled",
			"huge cancelled",
			"publish completed",
			"the race completed, and the others said 1 and 1 of 5 words",
			"",
		].join("\n"),
	);
});

test("examples/flow-map-reduce.ts goes over a thousand items, eight at a time, and adds them up", async () => {
	expect(await output(".build/examples/flow-map-reduce.js")).toBe(
		[
			"completed: 1001 members",
			"499500 words on 1000 pages, each counted once: true",
			"never more than 8 at a time: true",
			"",
		].join("\n"),
	);
});

test("examples/embedded-server.ts serves, works and submits in one process, and stands in docs/embedding.md", async () => {
	expect(blockAfter(await readFile(join(root, "docs/embedding.md"), "utf8"), "example: embedded-server.ts")).toBe(
		await readFile(join(root, "examples/embedded-server.ts"), "utf8"),
	);
	expect(await output(".build/examples/embedded-server.js")).toBe("NO CONNECTION\nOVER HTTP\nclosed\n");
});

test("examples/testing-a-worker.test.ts stands in docs/testing.md and takes less than a second", async () => {
	const name = "testing-a-worker.test";
	expect(blockAfter(await readFile(join(root, "docs/testing.md"), "utf8"), `example: ${name}.ts`)).toBe(
		await readFile(join(root, `examples/${name}.ts`), "utf8"),
	);
	const program = join(root, `.build/examples/${name}.js`);
	const durations: number[] = [];
	// A machine that has other things to do may be slow once.
	for (let n = 0; n < 5 && !durations.some((ms) => ms < 1000); n++) {
		const { stdout } = await run(process.execPath, ["--test", "--test-reporter=tap", program], { timeout: 60_000 });
		expect(stdout).toContain("# pass 4\n# fail 0\n");
		const each = [...stdout.matchAll(/^ {2}duration_ms: ([\d.]+)/gm)].map(([, ms]) => Number(ms));
		durations.push(each.reduce((sum, ms) => sum + ms, 0));
	}
	expect(Math.min(...durations)).toBeLessThan(1000);
});

describe("the README's terminals", () => {
	const running: Program[] = [];
	afterEach(async () => {
		for (const program of running.splice(0).reverse()) await program.stop();
	});

	/** As it stands in the README, but with the program of this checkout. */
	function inTerminal(command: string, env: Record<string, string> = {}): Program {
		const own = command.replaceAll("npx flowfabric", `"${process.execPath}" dist/cli/main.js`);
		const program = new Program("sh", ["-c", own], { cwd: root, env });
		running.push(program);
		return program;
	}

	/** The same, for a program that goes on until it is stopped. */
	function staysInTerminal(command: string, env: Record<string, string>): Program {
		return inTerminal(command.trim().replace(/(npx|node) /, "exec $1 "), env);
	}

	test.for(storeBeds.filter(({ partitions }) => partitions === 8))(
		"a server on $name, a worker elsewhere, and what the third terminal shows",
		async ({ name, open }, context) => {
			const bed = await open();
			context.onTestFinished(() => bed.discard());
			const readme = await readFile(join(root, "README.md"), "utf8");
			expect(blockAfter(readme, "example: remote-worker.mjs")).toBe(
				await readFile(join(root, "examples/remote-worker.mjs"), "utf8"),
			);
			const command = blockAfter(readme, name === "sqlite" ? "terminal: server" : "terminal: server on Valkey");
			const server = staysInTerminal(command.replace("valkey://127.0.0.1:6379", bed.url), {
				FF_STORE: bed.url,
				FF_LISTEN_ADDR: "127.0.0.1:0",
			});
			const [url] = await server.says(/http:\/\/127\.0\.0\.1:\d+/);
			const worker = staysInTerminal(blockAfter(readme, "terminal: worker"), { FF_URL: url });
			await worker.says(/waiting for work/);

			const steps = shellSteps(blockAfter(readme, "terminal: shell"));
			expect(steps.length).toBeGreaterThan(5);
			await followSteps(steps, url);
		},
	);

	test("the worker's part by hand, as docs/http-api.md shows it", async () => {
		const page = await readFile(join(root, "docs/http-api.md"), "utf8");
		const server = staysInTerminal("npx flowfabric serve", { FF_STORE: "memory:", FF_LISTEN_ADDR: "127.0.0.1:0" });
		const [url] = await server.says(/http:\/\/127\.0\.0\.1:\d+/);
		const blocks = ["a worker by hand", "claim", "renew", "complete"].map((name) => `terminal: ${name}`);
		await followSteps(
			blocks.flatMap((label) => shellSteps(blockAfter(page, label))),
			url,
		);
	});

	/** Types what a page shows into one shell, and compares what it prints. */
	async function followSteps(steps: readonly ShellStep[], url: string): Promise<void> {
		const END = "=== end of a step ===";
		const script = steps.map(({ command }) => `${command} 2>&1\necho "${END}"`).join("\n");
		const shell = inTerminal(script.replaceAll("http://127.0.0.1:9090", url), { FF_URL: url });
		expect(await shell.ended()).toBe(0);
		const printed = shell.out.split(`${END}\n`);
		for (const [n, { command, shown }] of steps.entries()) expect(printed[n], command).toMatch(loosely(shown));
	}

	test("every npm script it names is there", async () => {
		const readme = await readFile(join(root, "README.md"), "utf8");
		const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { scripts: object };
		const named = [...readme.matchAll(/^npm (?:run )?(?!install )([a-z]+)/gm)].map(([, name]) => name);
		expect(named).toContain("start");
		expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
	});

	test("npx flowfabric works in a checkout", async () => {
		const { stdout } = await run("npx", ["--offline", "--no", "flowfabric", "--version"], { cwd: root });
		expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
	});
});

test("examples/plain-http-worker.mjs claims, renews and completes with nothing but fetch", async () => {
	const source = await readFile(join(root, "examples/plain-http-worker.mjs"), "utf8");
	expect(source.split("\n").length).toBeLessThanOrEqual(60);
	const stage = await Stage.open();
	const worker = new Program(process.execPath, [join(root, "examples/plain-http-worker.mjs")], {
		env: { FF_URL: stage.url },
	});
	try {
		const run = await stage.ff.submit("shout", { text: "is anybody there?" });
		expect(await run.result({ timeoutMs: 30_000 })).toBe("IS ANYBODY THERE?");
		const failed = await stage.ff.submit("shout", null);
		expect(await failed.wait({ timeoutMs: 30_000 })).toMatchObject({
			publicState: "failed",
			failure: { category: "error" },
		});
	} finally {
		await worker.stop();
		await stage.close();
	}
});
