import { FlowFabricError } from "../../contract/errors.ts";
import { type AdmissionTerms, heldAt, standing } from "../../kernel/admission/admitting.ts";
import { guardsToAsk, guardText, wantedOf } from "../../kernel/admission/guards.ts";
import type { HoldAnswer, HoldRefusal, HoldRequest } from "../../kernel/admission/holding.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { type GuardName, slotOfGuard } from "../../kernel/records/guard.ts";
import type { Settlement } from "../../kernel/rules/settle.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** What one look for work has found out about budgets and quotas, and by how much it may go on. */
export interface AdmissionRound extends Omit<AdmissionTerms, "isAlone" | "most"> {
	refused: Map<string, HoldRefusal>;
	unreadable: Set<string>;
	/** Why something could not be asked. */
	failure: unknown;
	/** Candidates that were examined. */
	examined: number;
}

export const admissionRound = (jitter: number): AdmissionRound => ({
	jitter,
	refused: new Map(),
	unreadable: new Set(),
	failure: undefined,
	examined: 0,
});

/** A budget or quota that takes longer to answer is not waited for: holds do not last. */
const PATIENCE_MS = 2000;
const REQUESTS_PER_COMMAND = 100;

/** A candidate on its way through what must admit it. */
interface Candidate {
	record: ExecutionRecord;
	guards: readonly GuardName[];
	/** How many of them have. */
	passed: number;
	admittedAt: number;
	/** Quotas whose slots it keeps when it is suspended. */
	keeps: string[];
	fate: Settlement["fate"] | undefined;
}

/**
 * Asks budgets and quotas, wherever they live, to admit executions that are held for it. Each is asked in its own order,
 * and all that are at the same point and name the same one ask it together.
 */
export class Admissions {
	readonly #runnerOf: (slot: number) => PartitionRunner;

	constructor(runnerOf: (slot: number) => PartitionRunner) {
		this.#runnerOf = runnerOf;
	}

	async ask(held: readonly ExecutionRecord[], isGrant: boolean, round: AdmissionRound): Promise<Settlement[]> {
		const candidates = held.map((record): Candidate => {
			return { record, guards: guardsToAsk(record), passed: 0, admittedAt: 0, keeps: [], fate: undefined };
		});
		for (;;) {
			const asked = nextOf(candidates, round);
			if (asked.size === 0) break;
			await Promise.all([...asked.values()].map((group) => this.#askTogether(group, isGrant, round)));
		}
		return candidates.map(({ record, fate = "dropped" }) => ({
			executionId: record.id,
			holdId: record.hold?.id ?? "",
			fate,
		}));
	}

	async #askTogether({ guard, candidates }: Asked, isGrant: boolean, round: AdmissionRound): Promise<void> {
		for (let n = 0; n < candidates.length; n += REQUESTS_PER_COMMAND) {
			const some = candidates.slice(n, n + REQUESTS_PER_COMMAND);
			const requests = some.map(({ record }) => requestOf(record, guard, isGrant));
			const answers = await this.#reserve(guard, requests, round);
			for (const [at, candidate] of some.entries()) hear(candidate, guard, answers?.[at], round);
		}
	}

	/** Undefined when it cannot be known; whatever was taken then goes back when the hold ends. */
	async #reserve(guard: GuardName, requests: HoldRequest[], round: AdmissionRound): Promise<HoldAnswer[] | undefined> {
		try {
			const runner = this.#runnerOf(slotOfGuard(guard));
			const outcome = await runner.run({ op: "reserve", guard, requests, jitter: round.jitter }, PATIENCE_MS);
			if (outcome.ok) return outcome.answers;
			// One that cannot be read was told of by its key, and is no reason to refuse a call that names it nowhere.
			if (outcome.code !== "corrupt_record")
				round.failure = new FlowFabricError(outcome.code, { details: outcome.details });
		} catch (error) {
			round.failure = error;
		}
		round.unreadable.add(guardText(guard));
		return undefined;
	}
}

interface Asked {
	guard: GuardName;
	candidates: Candidate[];
}

/** Whom the candidates that are not through have to ask next. */
function nextOf(candidates: readonly Candidate[], { unreadable, refused }: AdmissionRound): Map<string, Asked> {
	const asked = new Map<string, Asked>();
	for (const candidate of candidates) {
		if (candidate.fate !== undefined) continue;
		const guard = candidate.guards[candidate.passed];
		if (!guard) {
			const { admittedAt, keeps } = candidate;
			candidate.fate = keeps.length > 0 ? { admittedAt, keeps } : { admittedAt };
			continue;
		}
		const name = guardText(guard);
		const refusal = standing(refused.get(name), heldAt(candidate.record));
		if (refusal) candidate.fate = { refusedBy: guard, refusal };
		else if (unreadable.has(name)) candidate.fate = "dropped";
		else {
			const group = asked.get(name);
			if (group) group.candidates.push(candidate);
			else asked.set(name, { guard, candidates: [candidate] });
		}
	}
	return asked;
}

function hear(candidate: Candidate, guard: GuardName, answer: HoldAnswer | undefined, round: AdmissionRound): void {
	if (answer && "late" in answer) {
		// Clocks that are apart by as long as a hold lasts would make every request late.
		round.unreadable.add(guardText(guard));
		round.failure ??= new FlowFabricError("store_unavailable", { message: `${guardText(guard)} was asked too late` });
	}
	if (!answer || "late" in answer) candidate.fate = "dropped";
	else if ("refused" in answer) {
		const { refused: refusal } = answer;
		candidate.fate = { refusedBy: guard, refusal };
		if (refusal.isForAll) round.refused.set(guardText(guard), refusal);
	} else {
		candidate.passed += 1;
		if (answer.keeps) candidate.keeps.push(guard.id);
		candidate.admittedAt = Math.max(candidate.admittedAt, answer.admittedAt);
	}
}

function requestOf(record: ExecutionRecord, guard: GuardName, isGrant: boolean): HoldRequest {
	const { id = "", until = 0 } = record.hold ?? {};
	const request: HoldRequest = { executionId: record.id, holdId: id, until };
	const wanted = wantedOf(record, guard);
	if (wanted) request.wanted = wanted;
	if (isGrant) request.isGrant = true;
	return request;
}
