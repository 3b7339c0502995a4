import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { FlowFabric } from "../../src/index.ts";

const index = new URL("../../src/index.ts", import.meta.url).href;

/** A program whose handler says `started`, then does as `ending` says, which may wait until it is `told` to stop. */
const program = (url: string, options: string, ending: string): string => `
	import { FlowFabric } from ${JSON.stringify(index)};
	const ff = await FlowFabric.open(${JSON.stringify(url)});
	const worker = ff.worker(${options});
	const keepAlive = setInterval(() => {}, 1000);
	worker.handle("job", async (ctx) => {
		const told = new Promise((resolve) => process.once("SIGTERM", resolve));
		console.log("started");
		${ending}
	});
	await worker.start();
`;

/** Runs the program on a store with one execution, sends a signal once it has started, and tells how it all ended. */
async function signalled(signal: NodeJS.Signals, options: string, ending: string) {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	onTestFinished(() => rm(folder, { recursive: true }));
	const url = `sqlite:${join(folder, "store.db")}`;
	const before = await FlowFabric.open(url);
	const { id } = await before.submit("job");
	await before.close();
	const args = ["--import", "tsx", "--input-type=module", "-e", program(url, options, ending)];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
	const ended = new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
		child.once("exit", (code, by) => resolve([code, by])),
	);
	for await (const line of createInterface(child.stdout)) if (line === "started") break;
	child.kill(signal);
	const exit = await ended;
	const ff = await FlowFabric.open(url);
	onTestFinished(() => ff.close());
	return { exit, execution: await ff.get(id) };
}

describe("a process with a worker", () => {
	for (const signal of ["SIGTERM", "SIGINT"] as const) {
		it(`hands its work back on ${signal}, then ends by that signal`, async () => {
			const { exit, execution } = await signalled(signal, "{ graceMs: 0 }", "await new Promise(() => {});");
			expect(exit).toEqual([null, signal]);
			expect(execution).toMatchObject({ publicState: "waiting", reclaims: 0, attempt: { index: 0 } });
		});
	}

	it("lets a handler finish within the grace", async () => {
		const ending = "await told; return 'done';";
		const { exit, execution } = await signalled("SIGTERM", "{ graceMs: 30_000 }", ending);
		expect(execution.publicState).toBe("completed");
		expect(exit).toEqual([null, "SIGTERM"]);
	});

	it("that handles signals itself ends as it likes", async () => {
		const ending = "await told; await ff.close(); process.exit(7);";
		const { exit } = await signalled("SIGTERM", "{ handleSignals: false, graceMs: 0 }", ending);
		expect(exit).toEqual([7, null]);
	});
});
