import { BatchBuilder } from "../../src/engine/partition/batch-builder.ts";
import { Scenario } from "./scenario.ts";
import type { Bugs } from "./stage.ts";

export interface Finding {
	seed: number;
	steps: number;
	error: Error;
}

/** Runs one seed; the same seed, steps and bugs always give the same history. What happened is counted in `seen`. */
export async function simulate(
	seed: number,
	steps: number,
	bugs: Bugs = {},
	seen?: Map<string, number>,
): Promise<Finding | undefined> {
	const scenario = new Scenario(seed, bugs);
	const { concerns } = BatchBuilder.prototype;
	if (bugs.undecidedRead) BatchBuilder.prototype.concerns = () => false;
	try {
		await scenario.run(steps);
		return undefined;
	} catch (error) {
		return { seed, steps, error: error as Error };
	} finally {
		BatchBuilder.prototype.concerns = concerns;
		for (const [what, count] of scenario.seen) seen?.set(what, (seen.get(what) ?? 0) + count);
	}
}

/** Every bug that can be planted: what must hold, each broken in one place. */
export const plantedBugs: Record<string, Bugs> = {
	"1 only written records are checked": { checksOnlyWrites: true },
	"2 refusals are told unchecked": { refusalsUnchecked: true },
	"3 a version is used twice": { versionsReused: true },
	"4 a batch sent again is applied again": { batchForgotten: true },
	"4 only the latest batch is remembered": { onlyLatestBatchKept: true },
	"5 a scan ignores its guard": { guardIgnored: true },
	"6 users read from a cache": { readsFromCache: true },
	"7 time is not checked": { timeUnchecked: true },
	"8 nobody gets a turn": { noTurns: true },
	"9 unknown fields are dropped": { unknownFieldsDropped: true },
	"9 unknown fields inside an attempt or a lease are dropped": { nestedFieldsDropped: true },
	"a rule rests on what is still on its way": { undecidedRead: true },
	"the fence is skipped": { fenceSkipped: true },
	"a placement is dropped": { placementDropped: true },
	"the idempotency record is lost": { idempotencyKeyLost: true },
	"what a claim took is not remembered": { claimRequestLost: true },
	"what a grant reserved is not remembered": { grantRequestLost: true },
	"an engine that died is taken to live": { deadEnginesLive: true },
	"a grant is accepted after its time": { grantAcceptedLate: true },
	"a grant does not lapse": { grantNeverLapses: true },
	"a pause is answered before every partition knows": { pauseNotSpread: true },
	"a grant of a paused lane is accepted": { pausedGrantAccepted: true },
	"a lane that drains takes work in": { drainIgnored: true },
	"nobody notices a worker that comes": { arrivalUnnoticed: true },
	"who could serve what waits is told from memory": { registryFromCache: true },
	"work under a key gets no ticket": { ticketLost: true },
	"a key keeps its turn": { turnNotTaken: true },
	"a claim takes another tenant's work": { claimAcrossTenants: true },
	"a pause stops every tenant's lane of that name": { pauseAcrossTenants: true },
	"a worker releases another tenant's work": { releaseAcrossTenants: true },
	"whoever looks sees every tenant": { readersUnbound: true },
};
