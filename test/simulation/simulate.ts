import { Scenario } from "./scenario.ts";
import type { Bugs } from "./stage.ts";

export interface Finding {
	seed: number;
	steps: number;
	error: Error;
}

/** Runs one seed; the same seed, steps and bugs always give the same history. */
export async function simulate(seed: number, steps: number, bugs: Bugs = {}): Promise<Finding | undefined> {
	try {
		await new Scenario(seed, bugs).run(steps);
		return undefined;
	} catch (error) {
		return { seed, steps, error: error as Error };
	}
}

/** Every bug that can be planted: what must hold, each broken in one place. */
export const plantedBugs: Record<string, Bugs> = {
	"1 only written records are checked": { checksOnlyWrites: true },
	"2 refusals are told unchecked": { refusalsUnchecked: true },
	"3 a version is used twice": { versionsReused: true },
	"4 a batch sent again is applied again": { batchForgotten: true },
	"5 a scan ignores its guard": { guardIgnored: true },
	"6 users read from a cache": { readsFromCache: true },
	"7 time is not checked": { timeUnchecked: true },
	"8 nobody gets a turn": { noTurns: true },
	"9 unknown fields are dropped": { unknownFieldsDropped: true },
	"the fence is skipped": { fenceSkipped: true },
	"a placement is dropped": { placementDropped: true },
	"the idempotency record is lost": { idempotencyKeyLost: true },
	"what a claim took is not remembered": { claimRequestLost: true },
	"an engine that died is taken to live": { deadEnginesLive: true },
};
