import { type ExecutionRecord, partsOf } from "../../src/kernel/records/execution.ts";
import type { SignalRecord } from "../../src/kernel/records/signal.ts";
import type { StepRecord } from "../../src/kernel/records/step.ts";
import type { SuspensionRecord } from "../../src/kernel/records/suspension.ts";
import type { WaitpointRecord } from "../../src/kernel/records/waitpoint.ts";
import { TIME_TOLERANCE_MS } from "../../src/store/port.ts";
import { ConditionModel } from "./condition-model.ts";
import { Violation } from "./violation.ts";

const SENT_MS = 86_400_000;
const MAX_SIGNALS = 10_000;

/** Whether what waited went on. A suspension that ended its execution, or with it, has answered nothing. */
export const hasGoneOn = ({ endedBy, timeoutBehavior }: SuspensionRecord): boolean =>
	["satisfied", "resumed", "admitted"].includes(endedBy) || (endedBy === "timeout" && timeoutBehavior === "resume");

/** The waitpoints, signals, suspensions and steps of one execution, as a watcher of commits knows them. */
export class WatchedParts {
	readonly id: string;
	record: ExecutionRecord | undefined;
	readonly waitpoints = new Map<string, WaitpointRecord>();
	readonly signals = new Map<number, SignalRecord>();
	readonly suspensions = new Map<number, SuspensionRecord>();
	/** By key. */
	readonly steps = new Map<string, StepRecord>();
	/** Keys that signals were sent under, by waitpoint. */
	readonly #sent = new Map<string, number>();
	/** What the unit at hand did, and what its waitpoints were before. */
	#unit: object | undefined;
	readonly #before = new Map<string, WaitpointRecord | undefined>();
	readonly #newSignals = new Set<number>();
	readonly #touched = new Set<number>();

	constructor(id: string) {
		this.id = id;
	}

	/** Whether there is anything left to be said of it. */
	get isGone(): boolean {
		return !this.record || this.record.removing;
	}

	/** What follows is part of this unit. */
	enter(unit: object): void {
		if (this.#unit === unit) return;
		this.#unit = unit;
		this.#before.clear();
		this.#newSignals.clear();
		this.#touched.clear();
	}

	wroteWaitpoint(id: string, next: WaitpointRecord): void {
		const before = this.waitpoints.get(id);
		if (!this.#before.has(id)) this.#before.set(id, before);
		this.waitpoints.set(id, next);
		if (!before) return;
		for (const field of ["executionId", "key", "number", "generation", "createdAt", "expiresAt"] as const)
			this.#require(before[field] === next[field], `${field} of ${id} became ${next[field]}`);
		this.#require(before.closedAt === 0 || next.closedAt === before.closedAt, `${id} was closed, and is not any more`);
	}

	wroteSignal(number: number, next: SignalRecord): void {
		const before = this.signals.get(number);
		this.signals.set(number, next);
		if (!before) {
			this.#newSignals.add(number);
			return;
		}
		for (const field of ["id", "waitpointId", "waitpoint", "name", "at", "effect"] as const)
			this.#require(before[field] === next[field], `${field} of signal ${number} became ${next[field]}`);
	}

	wroteSuspension(number: number, next: SuspensionRecord): void {
		const before = this.suspensions.get(number);
		this.suspensions.set(number, next);
		this.#touched.add(number);
		if (!before) return this.#checkKeyIsNew(number, next);
		this.#require(before.id === next.id, `suspension ${number} was ${before.id} and became ${next.id}`);
		if (before.endedAt > 0)
			this.#require(
				before.endedBy === next.endedBy && before.endedAt === next.endedAt && before.counted === next.counted,
				`suspension ${number} ended by ${before.endedBy}, and then by ${next.endedBy}`,
			);
	}

	/** Whoever has a result has it for ever; only a failure may be followed by something else. */
	wroteStep(key: string, next: StepRecord): void {
		const before = this.steps.get(key);
		this.steps.set(key, next);
		if (!before || before.error) return;
		const [had, has] = [before, next].map(({ result, error }) => JSON.stringify([result, error]));
		this.#require(had === has, `${key} came to ${had}, and then to ${has}`);
	}

	/** What was waited for under a key is not waited for again. */
	#checkKeyIsNew(number: number, { idempotencyKey, generation }: SuspensionRecord): void {
		if (idempotencyKey === "") return;
		for (const [other, known] of this.suspensions)
			if (
				other !== number &&
				known.idempotencyKey === idempotencyKey &&
				known.generation === generation &&
				hasGoneOn(known)
			)
				throw new Violation(`${this.id}: suspensions ${other} and ${number} are both under ${idempotencyKey}`);
	}

	/** All of a unit is known; `states` are those the execution went through in it, from what it was before to what it is. */
	judge(states: readonly (ExecutionRecord | undefined)[], time: number): void {
		this.record = states.at(-1);
		const { record } = this;
		if (!record || record.removing) return;
		for (const [id, before] of this.#before) if (!before) this.#checkWaitpointIsNew(id, time);
		for (const number of this.#newSignals) this.#checkArrival(number, states, time);
		for (const number of this.#touched) this.#checkSuspension(number);
		if (record.lifecyclePhase === "suspended") this.#checkWaiting(record);
	}

	/** A key gives a new waitpoint only when the one before is closed. */
	#checkWaitpointIsNew(id: string, time: number): void {
		const fresh = this.waitpoints.get(id);
		if (!fresh) return;
		for (const [other, { key, generation, number, closedAt, expiresAt }] of this.waitpoints) {
			if (other === id) continue;
			this.#require(number !== fresh.number, `${other} and ${id} are both number ${number}`);
			// What came after it, in the same unit, is judged by itself.
			if (key !== fresh.key || generation !== fresh.generation || closedAt > 0 || number > fresh.number) continue;
			this.#require(expiresAt > 0 && expiresAt <= time, `${other} is open under ${key}, and ${id} was made`);
		}
	}

	/** A signal comes to a waitpoint of its own that is open, and only once. */
	#checkArrival(number: number, states: readonly (ExecutionRecord | undefined)[], time: number): void {
		const signal = this.signals.get(number) as SignalRecord;
		const { waitpointId, idempotencyKey, at } = signal;
		if (waitpointId === "") return;
		const after = this.waitpoints.get(waitpointId);
		const before = this.#before.has(waitpointId) ? this.#before.get(waitpointId) : after;
		const what = `signal ${number} came to ${waitpointId}`;
		this.#require(after !== undefined, `${what}, which is not one of its own`);
		if (!after) return;
		const { closedAt, expiresAt, suspension } = before ?? after;
		this.#require(!before || closedAt === 0, `${what}, which was closed`);
		const isPast = expiresAt > 0 && suspension === 0 && after.suspension === 0 && expiresAt + TIME_TOLERANCE_MS <= time;
		this.#require(!isPast, `${what}, which had expired`);
		const isOpenIn = (state: ExecutionRecord | undefined) =>
			state?.lifecyclePhase !== "terminal" && state !== undefined && partsOf(state).generation === after.generation;
		this.#require(states.some(isOpenIn), `${what} when all of that was over`);
		if (idempotencyKey !== "") {
			const name = `${waitpointId} ${idempotencyKey}`;
			const earlier = this.signals.get(this.#sent.get(name) ?? 0);
			if (earlier) this.#require(earlier.at + SENT_MS <= at, `${what} under ${idempotencyKey}, and had come before`);
			this.#sent.set(name, number);
		}
		const { signals, signalsBefore } = partsOf(this.record as ExecutionRecord);
		const most = this.record?.policy.maxSignals ?? MAX_SIGNALS;
		this.#require(signals - signalsBefore <= most, `${signals - signalsBefore} signals were taken, and may be ${most}`);
	}

	/** Counts as its signals say, and is over as soon as they say so. */
	#checkSuspension(number: number): void {
		const suspension = this.suspensions.get(number) as SuspensionRecord;
		const { counts, endedBy, waitpoints } = suspension;
		const model = this.modelOf(number);
		const what = `suspension ${number}, ${JSON.stringify(suspension.condition)},`;
		this.#require(String(model.counts) === String(counts), `${what} counted ${counts}, and should ${model.counts}`);
		this.#require(endedBy !== "satisfied" || model.holds, `${what} ended though it does not hold`);
		this.#require(!model.holds || endedBy !== "", `${what} holds, and goes on`);
		if (endedBy === "") return;
		for (const { id } of waitpoints) {
			const waitpoint = this.waitpoints.get(id);
			const isLeft = endedBy === "execution_ended" ? waitpoint?.suspension === 0 : (waitpoint?.closedAt ?? 0) > 0;
			this.#require(isLeft, `${what} ended by ${endedBy}, and ${id} stayed open`);
		}
	}

	/** It waits for something that is not over, and nothing that came for it was overlooked. */
	#checkWaiting({ suspension }: ExecutionRecord): void {
		const current = this.suspensions.get(suspension?.number ?? 0);
		this.#require(current?.endedAt === 0, `it is suspended, and suspension ${suspension?.number} is over`);
		if (!current || suspension?.isReplaying) return;
		const ids = new Set(current.waitpoints.map(({ id }) => id));
		for (const [number, signal] of this.signals) {
			if (!ids.has(signal.waitpointId) || signal.suspension === suspension?.number) continue;
			// What counted for a suspension that its execution's end cut short counts for the next.
			if (signal.suspension === 0 || signal.leaves.length > 0)
				throw new Violation(`${this.id}: signal ${number} was overlooked by suspension ${suspension?.number}`);
		}
	}

	/** What a suspension should make of the signals it has seen. */
	modelOf(number: number): ConditionModel<SignalRecord> {
		const { condition, waitpoints } = this.suspensions.get(number) as SuspensionRecord;
		const ids = new Set(waitpoints.map(({ id }) => id));
		const seen = [...this.signals].filter(([, signal]) => signal.suspension === number && signal.waitpointId !== "");
		for (const [n, { waitpointId }] of seen)
			this.#require(ids.has(waitpointId), `signal ${n} to ${waitpointId} was counted by suspension ${number}`);
		seen.sort(([a], [b]) => a - b);
		const keys = waitpoints.map(({ key }) => key);
		return new ConditionModel(
			condition,
			keys,
			seen.map(([, signal]) => signal),
		);
	}

	/** The signals, by id, that a worker is given when it goes on after a suspension. */
	handedOver(number: number): string[] {
		const suspension = this.suspensions.get(number);
		if (!suspension) return [];
		const model = this.modelOf(number);
		const told = [...(suspension.endedBy === "satisfied" ? model.satisfying : model.counted)];
		// What nobody sent says that it timed out.
		for (const signal of this.signals.values())
			if (signal.suspension === number && signal.waitpointId === "") told.push(signal);
		return told.map(({ id }) => id).sort();
	}

	#require(holds: boolean, otherwise: string): void {
		if (!holds) throw new Violation(`${this.id}: ${otherwise}`);
	}
}
