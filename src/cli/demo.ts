import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Context, type ExecutionEvent, FlowFabric } from "../index.ts";

/**
 * What `npm start` shows until there is a server: the embedded engine on a SQLite file, work that succeeds, work that
 * fails and is retried, and a worker that loses its lease in the middle. It ends by itself.
 */

type Kinds = {
	greet: { input: { name: string }; result: string };
	flaky: { input: { failures: number }; result: string };
	slow: { input: { steps: number }; result: string };
};

const say = (text: string) => process.stdout.write(`${text}\n`);
const pause = (ms: number, signal?: AbortSignal) =>
	new Promise<void>((resolve, reject) => {
		const timer = setTimeout(resolve, ms);
		signal?.addEventListener("abort", () => {
			clearTimeout(timer);
			reject(signal.reason);
		});
	});

async function flaky({ attempt }: Context, { failures }: { failures: number }): Promise<string> {
	if (attempt.index < failures) throw new Error(`attempt ${attempt.index} did not work out`);
	return `worked at attempt ${attempt.index}`;
}

async function slow({ attempt, signal, execution }: Context, { steps }: { steps: number }): Promise<string> {
	for (let step = 1; step <= steps; step++) {
		// The first attempt has its lease taken away, as if its machine had vanished: the work goes on elsewhere.
		if (attempt.index === 0 && step === 2) void ff.revokeLease(execution.id, { reason: "demo: this machine is gone" });
		await pause(40, signal);
	}
	return `${steps} steps done by attempt ${attempt.index}`;
}

function describe(event: ExecutionEvent, startedAt: number): string {
	const at = String(event.at - startedAt).padStart(5);
	const attempt = event.attempt === undefined ? "" : ` attempt ${event.attempt}`;
	const why = typeof event.reason === "string" ? ` (${event.reason})` : "";
	return `  ${at} ms  ${event.type.padEnd(16)}${attempt}${why}`;
}

const folder = await mkdtemp(join(tmpdir(), "flowfabric-demo-"));
const ff = await FlowFabric.open<Kinds>(`sqlite:${join(folder, "demo.db")}`);
try {
	const worker = ff.worker({ concurrency: 4, leaseMs: 2000 });
	worker.handle("greet", async (_ctx, { name }) => `hello, ${name}`);
	worker.handle("flaky", flaky);
	worker.handle("slow", slow);
	await worker.start();

	say("FlowFabric, embedded on a SQLite file.\n");
	const runs = [
		{ title: "one that just works", run: await ff.submit("greet", { name: "world" }) },
		{
			title: "one that fails twice and is retried",
			run: await ff.submit(
				"flaky",
				{ failures: 2 },
				{ policy: { retry: { backoff: { type: "fixed", delayMs: 150 } } } },
			),
		},
		{ title: "one whose worker loses its lease", run: await ff.submit("slow", { steps: 5 }) },
	];
	for (const { title, run } of runs) {
		const result = await run.result({ timeoutMs: 30_000 });
		const { events } = await ff.events(run.id);
		say(`${title}: ${run.id}`);
		for (const event of events) say(describe(event, events[0]?.at ?? 0));
		say(`            result: ${JSON.stringify(result)}\n`);
	}
	const again = await ff.submit("greet", { name: "twice" }, { idempotencyKey: "demo-1" });
	const same = await ff.submit("greet", { name: "twice" }, { idempotencyKey: "demo-1" });
	say(`submitted twice under one idempotency key: ${again.id === same.id ? "one execution" : "two executions"}`);
} finally {
	await ff.close();
	await rm(folder, { recursive: true });
}
