import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { freePort, hasValkey, ownStore, sharedValkey } from "../servers/valkey-server.ts";
import { Program } from "./processes.ts";

const cli = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** A worker renews its leases at a third of this: within a test, no renewal of its own tells it anything. */
const LEASE_MS = 3_600_000;
const FRAMES = 200;

interface Served {
	url: string;
	program: Program;
}

async function serve(store: string): Promise<Served> {
	const at = `127.0.0.1:${await freePort()}`;
	const program = new Program(process.execPath, [cli, "serve", "--store", store, "--listen", at, "--partitions", "8"]);
	await program.says(/127\.0\.0\.1:\d+/);
	return { url: `http://${at}`, program };
}

describe.runIf(hasValkey())("one of two servers on a store is killed", () => {
	let drop: () => Promise<void>;
	let killed: Served;
	let other: Served;
	/** Knows both servers, and asks the one that is killed first. */
	let ff: FlowFabric;
	/** Knows only the server that stays. */
	let operator: FlowFabric;
	let worker: ReturnType<FlowFabric["worker"]>;

	beforeEach(async () => {
		const own = ownStore(await sharedValkey());
		drop = own.drop;
		[killed, other] = await Promise.all([serve(own.url), serve(own.url)]);
		ff = FlowFabric.connect([killed.url, other.url]);
		operator = FlowFabric.connect(other.url);
		worker = ff.worker({ leaseMs: LEASE_MS, handleSignals: false });
	});

	afterEach(async () => {
		await worker.stop({ graceMs: 0 });
		await Promise.all([ff.close(), operator.close()]);
		await Promise.all([killed, other].map(({ program }) => program.stop("SIGKILL")));
		await drop();
	});

	test("its work completes, and a tail goes on without loss or repetition", async () => {
		worker.handle("write", async (ctx) => {
			for (let n = 0; n < FRAMES; n++) {
				if (n === FRAMES / 2) killed.program.child.kill("SIGKILL");
				await ctx.stream.write(`frame ${n}`);
			}
			return ctx.attempt.index;
		});
		await worker.start();
		const run = await ff.submit("write");
		const frames: (string | undefined)[] = [];
		for await (const { text } of run.tail()) frames.push(text);
		expect(frames).toEqual(Array.from({ length: FRAMES }, (_, n) => `frame ${n}`));
		expect(await run.result()).toBe(0);
		expect(await killed.program.ended()).toBe("SIGKILL");

		// Work that is submitted later is claimed and done too.
		worker.use(async () => "later");
		expect(await (await ff.submit("write")).result()).toBe("later");
	});

	test("the worker still hears at once of a cancel", async () => {
		const reasons: string[] = [];
		worker.handle("endless", async ({ signal }) => {
			await new Promise((resolve) => signal.addEventListener("abort", resolve));
			reasons.push(signal.reason.why);
			signal.throwIfAborted();
		});
		await worker.start();
		const first = await ff.submit("endless");
		const second = await ff.submit("endless");
		for (const { id } of [first, second]) {
			for await (const { event } of ff.backend.executions.follow(id)) if (event.type === "claimed") break;
		}
		await killed.program.stop("SIGKILL");

		// The worker may not be connected to the other server yet: it asks what it has missed once it is.
		await operator.cancel(first.id, { graceMs: LEASE_MS });
		expect((await operator.wait(first.id)).publicState).toBe("cancelled");
		// By now it is connected, and a notice reaches it.
		await operator.cancel(second.id, { graceMs: LEASE_MS });
		expect((await operator.wait(second.id)).publicState).toBe("cancelled");
		expect(reasons).toEqual(["cancelled", "cancelled"]);
	});
});
