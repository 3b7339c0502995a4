import { describe, expect, test } from "vitest";
import { plantedFlowBugs, simulateFlows } from "./simulate.ts";

const SEEDS = 60;
const STEPS = 150;
const CHUNK = 20;
/** Within so many a planted bug must be found. */
const MOST_SEEDS = 500;

/** What a run is about must come up in it, and not just now and then. */
const COMMON = [
	"edges satisfied",
	"edges impossible",
	"edge_added",
	"flows grown by a member",
	"flows grown by a group",
	"flows grown by a seal",
	"steps refused: node_already_started",
	"skipped",
	"results passed",
	"members replayed",
	"blocked waiting_for_children",
	"flow_reopened",
	"flows read",
	"flows that ended completed",
	"flows that ended failed",
	"flows that ended cancelled",
	"flows cancelled: cancel_all",
	"flows cancelled: cancel_pending",
	"flows cancelled: flow_only",
	"retry_scheduled",
	"cancelled",
	"expired",
	"delayed",
	"suspended",
	"lease_expired",
	"deleted",
];

/** `npm run simulate -- --flows --from <seed> --seeds 1 --steps 150` replays what fails here. */
describe(`simulation of flows: ${SEEDS} seeds of ${STEPS} steps`, () => {
	const seen = new Map<string, number>();
	for (let from = 1; from <= SEEDS; from += CHUNK) {
		test(`seeds ${from} to ${from + CHUNK - 1} violate nothing`, { timeout: 300_000 }, async () => {
			for (let seed = from; seed < from + CHUNK; seed++) {
				const finding = await simulateFlows(seed, STEPS, {}, seen);
				expect(finding && `seed ${seed}: ${finding.error.stack}`).toBeUndefined();
			}
		});
	}

	test("everything it is about came up", () => {
		const counts = COMMON.map((what): [string, number] => [what, seen.get(what) ?? 0]);
		process.stdout.write(`simulated flows: ${counts.map(([what, count]) => `${count} × ${what}`).join(", ")}\n`);
		expect(counts.filter(([, count]) => count < SEEDS / 8)).toEqual([]);
	});
});

describe("planted bugs of flows are found", () => {
	test.each(Object.entries(plantedFlowBugs))("%s", { timeout: 600_000 }, async (name, bugs) => {
		let seed = 1;
		while (seed <= MOST_SEEDS && !(await simulateFlows(seed, STEPS, bugs))?.isViolation) seed += 1;
		process.stdout.write(`planted bug "${name}": found after ${seed} seeds\n`);
		expect(seed).toBeLessThanOrEqual(MOST_SEEDS);
	});
});
