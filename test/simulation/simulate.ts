import { StoreProbe } from "../../src/engine/claims/store-probe.ts";
import { BatchBuilder } from "../../src/engine/partition/batch-builder.ts";
import { PendingScans } from "../../src/engine/partition/pending-scans.ts";
import { type AdmissionBugs, plantInRoom } from "./admission-bugs.ts";
import { FlowScenario } from "./flow-scenario.ts";
import { Scenario } from "./scenario.ts";
import type { Bugs, RunnerBugs } from "./stage.ts";
import { Violation } from "./violation.ts";

export interface Finding {
	seed: number;
	steps: number;
	error: Error;
	/** Whether somebody saw what must not happen. A program that crashes over a bug has not noticed it. */
	isViolation: boolean;
}

/** Plants the bugs that are in the way an engine is made; returns how to take them out. */
function plant(bugs: RunnerBugs & AdmissionBugs): () => void {
	const takeOutOfRoom = plantInRoom(bugs);
	const { concerns } = BatchBuilder.prototype;
	const { holdsBack } = PendingScans.prototype;
	const { isThere } = StoreProbe.prototype;
	if (bugs.undecidedRead) BatchBuilder.prototype.concerns = () => false;
	if (bugs.scanPutOff) PendingScans.prototype.holdsBack = () => false;
	if (bugs.silenceIsNoWork) StoreProbe.prototype.isThere = async () => true;
	return () => {
		takeOutOfRoom();
		BatchBuilder.prototype.concerns = concerns;
		PendingScans.prototype.holdsBack = holdsBack;
		StoreProbe.prototype.isThere = isThere;
	};
}

interface History {
	readonly seen: ReadonlyMap<string, number>;
	run(steps: number): Promise<void>;
}

type Simulate = (seed: number, steps: number, bugs?: Bugs, seen?: Map<string, number>) => Promise<Finding | undefined>;

/** Runs one seed; the same seed, steps and bugs always give the same history. What happened is counted in `seen`. */
export const simulate: Simulate = (seed, steps, bugs = {}, seen) =>
	play(new Scenario(seed, bugs), seed, steps, bugs, seen);

/** The same of flows, which have histories of their own: a whole graph has to come to its end in each. */
export const simulateFlows: Simulate = (seed, steps, bugs = {}, seen) =>
	play(new FlowScenario(seed, bugs), seed, steps, bugs, seen);

async function play(
	scenario: History,
	seed: number,
	steps: number,
	bugs: Bugs,
	seen: Map<string, number> | undefined,
): Promise<Finding | undefined> {
	const takeOut = plant(bugs);
	try {
		await scenario.run(steps);
		return undefined;
	} catch (error) {
		return { seed, steps, error: error as Error, isViolation: error instanceof Violation };
	} finally {
		takeOut();
		for (const [what, count] of scenario.seen) seen?.set(what, (seen.get(what) ?? 0) + count);
	}
}

/** Bugs of flows, which only histories of flows can show. */
export const plantedFlowBugs: Record<string, Bugs> = {
	"a member runs before its group is satisfied": { runsEarly: true },
	"a member is skipped that could still run": { skipsEarly: true },
	"what waits for a member does not hear of its end": { endUnheard: true },
	"what a seal makes impossible waits on": { sealUnheard: true },
	"an edge that comes late is not resolved": { lateEdgeUnresolved: true },
	"what is passed on is the latest result": { latestResultPassed: true },
	"a member that is replayed counts as ended": { replayNotCounted: true },
	"a member starts after its flow was cancelled": { startsAfterCancel: true },
	"a cancel does not reach the members": { cancelNotSpread: true },
	"a replay opens nothing again": { replayReopensNothing: true },
	"a flow does not fail with its members": { failureForgotten: true },
	"to be needed no more is a failure": { sparedIsFailure: true },
	"what is needed no more runs on": { remainingRunOn: true },
	"edges stay behind when their flow goes": { edgesStayBehind: true },
	"flows are read from a cache": { flowsFromCache: true },
};

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
	"an errand is awaited inside the due pass": { errandAwaited: true },
	"a scan is put off for ever": { scanPutOff: true },
	"a store that says nothing has no work": { silenceIsNoWork: true },
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
	"a hold that ends gives nothing back": { holdNotRepaired: true },
	"what is given back counts with every message": { returnedTwice: true },
	"a window is trimmed early": { windowTrimmedEarly: true },
	"what waits is released without a look at the room": { roomNotLookedAt: true },
	"releasing stops at the first that does not fit": { stopsAtFirst: true },
	"a give-back is lost": { giveBackLost: true },
	"what is not held is settled": { settledUnheld: true },
	"a report under a known key counts again": { usageKeyIgnored: true },
	"a refused report keeps nobody out": { exhaustionIgnored: true },
	"holders are not told of a breach": { breachUntold: true },
	"what waits for a quota forgets whose turn it is": { waitersInOrder: true },
	"blocked work has no time to be in": { blockedForEver: true },
	"what went on is resumed again": { resumedTwice: true },
	"a signal sent again counts again": { signalCountsAgain: true },
	"a waitpoint that is closed takes signals": { closedWaitpointTakes: true },
	"a token reaches a newer waitpoint of its key": { oldTokenReachesNewer: true },
	"any token opens any waitpoint": { tokenNotCompared: true },
	"signals that came early are lost": { earlySignalsLost: true },
	"a timeout acts on what has gone on": { timeoutAfterResume: true },
	"a suspension never times out": { timeoutNeverComes: true },
	"a waitpoint is made anew after a reclaim": { waitpointMadeAnew: true },
	"signals that are alike count twice": { distinctnessIgnored: true },
	"waitpoints stay open when what waited goes on": { waitpointsStayOpen: true },
	"what was waited for under a key is waited for again": { waitedForAgain: true },
	"a step recorded again keeps the second result": { stepOverwritten: true },
	"a slot that was kept is not given back": { keptSlotLost: true },
	"waitpoints stay behind when their execution goes": { partsStayBehind: true },
	"a frame that is sent again is kept again": { frameSentAgainKept: true },
	"frames are taken from leases that are over": { framesOfDeadLeases: true },
	"a stream that is closed takes frames": { closedStreamTakes: true },
	"a lease is not looked at in the step that appends": { fenceApart: true },
	"what one attempt tells goes into the stream of another": { attemptsMixed: true },
	"a stream is opened again by a replay": { streamReopened: true },
	"why a stream was closed changes with the next attempt": { closeReasonChanged: true },
	"frames that were acknowledged are lost": { chunkLost: true },
	"frames are written over others": { chunkWrittenOver: true },
	"frames are trimmed early": { trimmedEarly: true },
	"frames that are trimmed stay in the store": { trimmedStays: true },
	"patches before the last are forgotten": { patchesForgotten: true },
	"a patch removes nothing": { nullsKept: true },
	"frames stay behind when their execution goes": { framesStayBehind: true },
	"headers of streams stay behind when their execution goes": { headersStayBehind: true },
	"nobody hears of the end of a stream": { closeUnheard: true },
	"nobody hears of frames": { appendUnheard: true },
	"tails are told what others were told before": { tailsFromCache: true },
	"a tail that goes on is shown its last frame again": { lastFrameShownAgain: true },
	"a tail from the end begins before it": { endTooEarly: true },
	"a reader is not shown every frame": { frameSkipped: true },
	"a tail ends before the last frames": { closedBeforeTheEnd: true },
};
