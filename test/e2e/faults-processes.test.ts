import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Everything } from "./everything.ts";
import { durableBeds, type StoreBed } from "./store-beds.ts";

const KILLS = Number(process.env.FF_FAULT_KILLS ?? 4);
const PAUSE_MS = Number(process.env.FF_FAULT_PAUSE_MS ?? 4000);

interface Fault {
	what: string;
	rounds: number;
	/** Some that is much shorter than a pause. */
	leaseMs: number;
	happens(all: Everything, round: number): Promise<void>;
}

const faults: readonly Fault[] = [
	{
		what: "kills of the server and of workers in turn",
		rounds: KILLS,
		leaseMs: 1000,
		async happens(all, round) {
			if (round % 2 === 0) {
				await all.server.stop("SIGKILL");
				await all.serve();
			} else {
				const [victim] = all.workers.splice(0, 1);
				expect(await victim?.stop("SIGKILL")).toBe("SIGKILL");
				all.recruit();
			}
		},
	},
	{
		what: `the server stands still for ${PAUSE_MS / 1000} s`,
		rounds: 1,
		leaseMs: PAUSE_MS / 4,
		happens: (all) => standStill(all.server.child.pid),
	},
	{
		what: `a worker stands still for ${PAUSE_MS / 1000} s`,
		rounds: 1,
		leaseMs: PAUSE_MS / 4,
		async happens(all) {
			const [frozen, ...others] = all.workers;
			const still = standStill(frozen?.child.pid);
			// The others take over what it held, while it believes that it still holds it.
			await all.flows(10, others);
			await still;
		},
	},
];

async function standStill(pid = 0): Promise<void> {
	process.kill(pid, "SIGSTOP");
	// The time is the fault itself; nothing is waited for.
	await sleep(PAUSE_MS);
	process.kill(pid, "SIGCONT");
}

describe.each(durableBeds)("every feature in use on $name", ({ name, open }) => {
	let bed: StoreBed;
	let all: Everything;
	beforeEach(async () => {
		bed = await open();
	});
	afterEach(async () => {
		await all.end();
		await bed.discard();
	});

	test.for(faults)(
		"$what: nothing lost, doubled or stuck, and doctor finds nothing",
		{
			timeout: 180_000 + KILLS * 20_000 + 4 * PAUSE_MS,
		},
		async ({ what, rounds, leaseMs, happens }, { task }) => {
			all = await Everything.start({ url: bed.url, leaseMs });
			for (let round = 0; round < rounds; round++) {
				await happens(all, round);
				await all.flows();
			}
			if (what.startsWith("kills")) task.meta.kills = rounds;
			const { acknowledged, ...wrong } = await all.settle();
			process.stdout.write(
				`${rounds === 1 ? "" : `${rounds} `}${what}, every feature in use on ${name}: ${acknowledged} acknowledged, ${wrong.lost.length} lost, ${wrong.doubled.length} doubled, ${wrong.stuck.length} stuck\n`,
			);
			expect(wrong).toEqual({ lost: [], doubled: [], stuck: [] });
			await all.stop();
			expect(await all.doctor()).toMatchObject({ code: 0, out: expect.stringContaining("Nothing is wrong.") });
		},
	);
});
