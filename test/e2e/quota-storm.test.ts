import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ExecutionEvent, FlowFabric } from "../../src/index.ts";
import { freePort } from "../servers/valkey-server.ts";
import { Program } from "./processes.ts";
import { type StoreBed, storeBeds } from "./store-beds.ts";

const EXECUTIONS = 100;
const SLOTS = 5;
const WORKERS = 4;
const KILLS = Number(process.env.FF_STORM_KILLS ?? 8);

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** What the test started: whatever happens, none of it outlives the test. */
let started: Program[] = [];
let bed: StoreBed;

function start(file: string, ...args: string[]): Program {
	const program = new Program(process.execPath, [pathOf(file), ...args]);
	started.push(program);
	return program;
}

/** A lease, from the event that tells of it to the one that tells of its end. */
interface Lease {
	id: string;
	from: number;
	until: number;
}

const ENDS = new Set(["completed", "failed", "cancelled", "lease_expired", "lease_revoked", "lease_released"]);

/** What the events of a namespace say of leases, and how long their slots stayed taken after their end. */
class LeaseWatch {
	readonly leases: Lease[] = [];
	longestOutlived = 0;
	readonly #ff: FlowFabric;
	readonly #live = new Map<string, Lease>();
	#completed = 0;

	constructor(ff: FlowFabric) {
		this.#ff = ff;
	}

	/** Resolves when so many have completed and no slot is left of leases that ended. */
	async until(completed: number): Promise<void> {
		let cursor = "start";
		while (this.#completed < completed) {
			const page = await this.#ff.feed({ cursor, limit: 1000, waitMs: 10_000 });
			cursor = page.nextCursor;
			const ended = page.events.flatMap((event) => (event.executionId === undefined ? [] : (this.#see(event) ?? [])));
			if (ended.length > 0) await this.#returned(ended);
		}
	}

	#see(event: ExecutionEvent): Lease | undefined {
		const { type, executionId, at } = event;
		if (type === "completed") this.#completed += 1;
		if (type === "claimed") {
			const lease = { id: String(event.leaseId), from: at, until: Number.POSITIVE_INFINITY };
			this.#live.set(executionId, lease);
			this.leases.push(lease);
		}
		if (!ENDS.has(type)) return undefined;
		const lease = this.#live.get(executionId);
		this.#live.delete(executionId);
		if (lease) lease.until = at;
		return lease;
	}

	async #returned(ended: Lease[]): Promise<void> {
		for (let left = ended; left.length > 0; ) {
			const askedAt = Date.now();
			const { holders } = await this.#ff.quotas.get("provider");
			const held = new Set(holders.map((holder) => ("leaseId" in holder ? holder.leaseId : "")));
			left = left.filter(({ id }) => held.has(id));
			for (const { until } of left) this.longestOutlived = Math.max(this.longestOutlived, askedAt - until);
		}
	}
}

/** The most leases that were live at the same time. */
function mostAtOnce(leases: readonly Lease[]): number {
	const changes = leases.flatMap(({ from, until }) => [
		{ at: from, by: 1 },
		{ at: until, by: -1 },
	]);
	// What ends in a millisecond makes room for what begins in it.
	changes.sort((a, b) => a.at - b.at || a.by - b.by);
	let live = 0;
	let most = 0;
	for (const { by } of changes) {
		live += by;
		most = Math.max(most, live);
	}
	return most;
}

const rows = storeBeds.filter(({ name, partitions }) => partitions === 8 && name !== "a valkey cluster");

describe.each(rows)("a quota under workers that are killed, on $name", ({ name, partitions, open }) => {
	beforeEach(async () => {
		bed = await open();
		started = [];
	});

	afterEach(async () => {
		await Promise.all(started.map((program) => program.stop("SIGKILL")));
		await bed.discard();
	});

	test(`${EXECUTIONS} executions over ${SLOTS} slots: never more leases than slots, all complete, none stays held`, {
		timeout: 240_000,
	}, async ({ task }) => {
		// On Valkey every worker has an engine of its own, which dies with it.
		const url = name === "sqlite" ? await serve(partitions) : bed.url;
		const ff = name === "sqlite" ? FlowFabric.connect(url) : await FlowFabric.open(url, { partitions });
		await ff.quotas.create({ id: "provider", concurrency: SLOTS });
		for (let n = 0; n < EXECUTIONS; n++) await ff.submit("call", { n }, { quotas: ["provider"] });

		const watch = new LeaseWatch(ff);
		const over = watch.until(EXECUTIONS);
		const recruit = () => start("./programs/quota-worker.mjs", url, String(partitions));
		const workers = Array.from({ length: WORKERS }, recruit);
		for (let kills = 0; kills < KILLS; kills++) {
			// Whoever is the first to have begun so many is in the middle of them, or of claiming more.
			const begun = new RegExp(`(?:^began .*\\n[^]*){${randomInt(1, 7)}}`, "m");
			const first = await Promise.race([
				...workers.map((worker) => worker.says(begun).then(() => worker, String)),
				over.then(() => "all work is done"),
			]);
			if (typeof first === "string") throw new Error(`after ${kills} kills: ${first}`);
			expect(await first.stop("SIGKILL")).toBe("SIGKILL");
			workers[workers.indexOf(first)] = recruit();
		}
		await over;

		task.meta.kills = KILLS;
		process.stdout.write(
			`${KILLS} kills of workers, ${EXECUTIONS} executions over ${SLOTS} slots on ${name}: ${watch.leases.length} leases, at most ${mostAtOnce(watch.leases)} at once; a slot outlived its lease by ${watch.longestOutlived} ms at most\n`,
		);
		expect(mostAtOnce(watch.leases)).toBeLessThanOrEqual(SLOTS);
		expect(await ff.quotas.get("provider")).toMatchObject({ concurrency: { held: 0 }, holders: [], waiting: 0 });
		const { executions } = await ff.list({ state: "completed", limit: 1000 });
		expect(executions).toHaveLength(EXECUTIONS);
		await ff.close();
	});
});

async function serve(partitions: number): Promise<string> {
	const where = ["--store", bed.url, "--listen", `127.0.0.1:${await freePort()}`];
	const server = start("../../dist/cli/main.js", "serve", ...where, "--partitions", String(partitions));
	const [url] = await server.says(/http:\/\/127\.0\.0\.1:\d+/);
	return url;
}
