import type { SignalReply, SignalView, SuspendReply } from "../../src/contract/replies.ts";
import { ENDINGS, type ExecutionEvent } from "../../src/kernel/events.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import { type ExecutionRecord, partsOf } from "../../src/kernel/records/execution.ts";
import { KEYRING_KEY, type KeyringRecord } from "../../src/kernel/records/keyring.ts";
import type { SignalRecord } from "../../src/kernel/records/signal.ts";
import type { StepRecord } from "../../src/kernel/records/step.ts";
import type { SuspensionRecord } from "../../src/kernel/records/suspension.ts";
import type { WaitpointRecord } from "../../src/kernel/records/waitpoint.ts";
import type { Unit } from "../../src/store/port.ts";
import type { Told } from "./fold.ts";
import { Lasting } from "./lasting.ts";
import type { SimPartition } from "./sim-store.ts";
import { Violation } from "./violation.ts";
import { hasGoneOn, WatchedParts } from "./watched-parts.ts";

/** Until others see to what the engine did not that minds a partition, and what the store takes. */
const OVERDUE_MS = 3000 + 1500;

/** Sees to it that what waits goes on when it should, once, and by nothing but what came for it. */
export class SuspensionWatch {
	readonly #parts = new Map<string, WatchedParts>();
	/** Which execution a waitpoint is of. */
	readonly #owners = new Map<string, string>();
	/** Suspensions that were begun, and those that ended, by what events said. */
	readonly #begun = new Set<string>();
	readonly #over = new Set<string>();
	readonly #lasting = new Lasting();
	#ring: KeyringRecord | undefined;
	/** Told of what came up. */
	onSeen: ((what: string) => void) | undefined;
	/** Told of what ended while it waited. */
	onEndedWaiting: ((id: string) => void) | undefined;

	/** What is known of an execution that has, or had, something to wait for. */
	of(id: string): WatchedParts | undefined {
		return this.#parts.get(id);
	}

	/** Whether a suspension that somebody resumed from is over. */
	isOver(suspensionId: string): boolean {
		return this.#over.has(suspensionId);
	}

	/** Whether what the key of a token signed is no longer taken. */
	isKidOver(token: string, time: number): boolean {
		const { expiresAt } = this.#ring?.keys.find(({ kid }) => token.startsWith(`${kid}.`)) ?? {};
		return expiresAt !== undefined && expiresAt <= time;
	}

	/** Executions that wait now. */
	get waiting(): ExecutionRecord[] {
		return [...this.#parts.values()].flatMap(({ record }) =>
			record?.lifecyclePhase === "suspended" && !record.removing ? [record] : [],
		);
	}

	waitpoint(id: string): WaitpointRecord | undefined {
		return this.#parts.get(this.#owners.get(id) ?? "")?.waitpoints.get(id);
	}

	/** A unit is about to be applied: all it does to what executions have beside themselves. */
	observe(unit: Unit): void {
		for (const { key, doc } of unit.put) {
			if (key === KEYRING_KEY) this.#ring = kernel.decode(key, doc) as KeyringRecord;
			if (key.startsWith("wp_")) {
				const waitpoint = kernel.decode(key, doc) as WaitpointRecord;
				this.#owners.set(key, waitpoint.executionId);
				this.#enter(waitpoint.executionId, unit).wroteWaitpoint(key, waitpoint);
				continue;
			}
			const slash = key.startsWith("ex_") ? key.indexOf("/") : -1;
			if (slash < 0) continue;
			const number = Number(key.slice(slash + 2));
			if (key[slash + 1] === "s")
				this.#enter(key.slice(0, slash), unit).wroteSignal(number, kernel.decode(key, doc) as SignalRecord);
			else if (key[slash + 1] === "u")
				this.#enter(key.slice(0, slash), unit).wroteSuspension(number, kernel.decode(key, doc) as SuspensionRecord);
			else if (key[slash + 1] === "p")
				this.#enter(key.slice(0, slash), unit).wroteStep(key, kernel.decode(key, doc) as StepRecord);
		}
	}

	#enter(id: string, unit: Unit): WatchedParts {
		const parts = this.#parts.get(id) ?? new WatchedParts(id);
		this.#parts.set(id, parts);
		parts.enter(unit);
		return parts;
	}

	/** An event that a unit tells of, and what its execution was before it. */
	tell(event: ExecutionEvent, before: Told | undefined): void {
		const { type, actor, executionId } = event;
		const suspensionId = String(("suspensionId" in event && event.suspensionId) || "");
		// What it means to others in a flow happens in the same step.
		const isOwn = before?.lifecyclePhase === "suspended" || event.flowId === undefined;
		if (actor === "suspension_timeout" && isOwn) {
			if (before?.lifecyclePhase !== "suspended")
				throw new Violation(`${executionId}: ${type} by a timeout when it did not wait`);
			this.onSeen?.(`${type} by a timeout`);
		}
		if (before?.lifecyclePhase === "suspended" && ENDINGS.has(type)) this.onEndedWaiting?.(executionId);
		if (type === "suspended") {
			if (this.#begun.has(suspensionId)) throw new Violation(`${executionId}: ${suspensionId} was begun twice`);
			this.#begun.add(suspensionId);
		}
		if (type === "signalled") this.onSeen?.(`signalled ${event.effect}`);
		if (type !== "resumed") return;
		this.onSeen?.(`resumed by ${event.by}`);
		if (!this.#begun.has(suspensionId))
			throw new Violation(`${executionId}: resumed from ${suspensionId}, which is none`);
		if (this.#over.has(suspensionId)) throw new Violation(`${executionId}: resumed from ${suspensionId} twice`);
		this.#over.add(suspensionId);
	}

	/** An execution as it is after a unit, judged when all of the unit is known. */
	judge(id: string, unit: Unit, states: readonly (ExecutionRecord | undefined)[], time: number): void {
		const parts = this.#parts.get(id);
		if (!parts) return;
		parts.enter(unit);
		parts.judge(states, time);
	}

	/** In calm, again and again: nothing waits for longer than it said. */
	checkCalm(partitions: readonly SimPartition[], isDisturbed: boolean): void {
		if (isDisturbed) return this.#lasting.clear();
		this.#lasting.begin(partitions);
		const time = Math.min(...partitions.map((partition) => partition.time));
		for (const { id, suspension } of this.waiting) {
			if (suspension?.isReplaying) this.#lasting.note(`${id} goes through what came early`, OVERDUE_MS);
			if (suspension?.timeoutAt !== undefined && !suspension.isEscalated && suspension.timeoutAt <= time)
				this.#lasting.note(`${id} was to wait until ${suspension.timeoutAt}, and waits`, OVERDUE_MS);
		}
		for (const { waitpoints, isGone } of this.#parts.values()) {
			if (isGone) continue;
			for (const [id, { expiresAt, suspension, closedAt }] of waitpoints)
				if (closedAt === 0 && suspension === 0 && expiresAt > 0 && expiresAt <= time)
					this.#lasting.note(`${id} was to be open until ${expiresAt}, and is not closed`, OVERDUE_MS);
		}
		this.#lasting.end();
	}

	/** What is gone has left nothing behind. */
	checkNoTrace(partitions: readonly SimPartition[]): void {
		for (const { records } of partitions) {
			for (const key of records.keys()) {
				const isPart = key.startsWith("ex_") && key.includes("/");
				const owner = key.startsWith("wp_")
					? this.#owners.get(key)
					: isPart
						? key.slice(0, key.indexOf("/"))
						: undefined;
				const parts = this.#parts.get(owner ?? "");
				if (parts && !parts.record) throw new Violation(`${owner} is gone, and ${key} stayed behind`);
			}
		}
	}

	/** A holder was told that it waits, or that it need not. */
	checkSuspended(id: string, { status, suspensionId, waitpoints, signals = [] }: SuspendReply): void {
		const parts = this.#parts.get(id);
		if (status === "cancelled" || (parts?.isGone ?? false)) return;
		const [number, suspension] = [...(parts?.suspensions ?? [])].find(([, each]) => each.id === suspensionId) ?? [];
		if (!parts || number === undefined || !suspension)
			throw new Violation(`${id} was told of ${suspensionId}, which is none of its own`);
		const [told, own] = [waitpoints, suspension.waitpoints].map((all) => all.map((each) => `${each.id} ${each.key}`));
		if (String(told) !== String(own)) throw new Violation(`${id} was told to wait at ${told}, and waits at ${own}`);
		if (status === "suspended") {
			if (!this.#begun.has(suspension.id)) throw new Violation(`${id} was told to be suspended, and never was`);
			return;
		}
		this.onSeen?.("already satisfied");
		if (!hasGoneOn(suspension)) throw new Violation(`${id} was told that ${suspensionId} is over, and it is not`);
		const expected = parts.handedOver(number);
		const given = signals.map((signal) => signal.id).sort();
		if (String(given) !== String(expected))
			throw new Violation(`${id} was given ${given} at once, and not ${expected}`);
	}

	/** A worker was given signals with its lease; `states` are those its execution was in during the call. */
	checkHandedOver(
		id: string,
		leaseId: string,
		signals: readonly SignalView[],
		states: readonly (ExecutionRecord | undefined)[],
	): void {
		const parts = this.#parts.get(id);
		if (!parts || parts.isGone) return;
		const given = String(signals.map((signal) => signal.id).sort());
		const expected = states.flatMap((state) => {
			if (state?.lease?.id !== leaseId) return [];
			const { suspensions, generation } = partsOf(state);
			// What a suspension had counted that was cut short passes on to the next.
			const isCutShort = parts.suspensions.get(suspensions)?.endedBy === "execution_ended";
			if (isCutShort && parts.suspensions.has(suspensions + 1)) return [given];
			const isOfNow = parts.suspensions.get(suspensions)?.generation === generation;
			return [isOfNow ? String(parts.handedOver(suspensions)) : ""];
		});
		if (expected.length > 0 && !expected.includes(given))
			throw new Violation(`${id} goes on under ${leaseId} with ${given || "nothing"}, and not with ${expected[0]}`);
		if (given !== "") this.onSeen?.("signals handed over");
	}

	/** Somebody was told what became of a signal. */
	checkSignalled(executionId: string, waitpointId: string | undefined, key: string, reply: SignalReply): void {
		const parts = this.#parts.get(executionId);
		if (parts?.isGone ?? false) return;
		const signal = [...(parts?.signals.values() ?? [])].find(({ id }) => id === reply.signalId);
		if (!signal) throw new Violation(`${executionId}: ${reply.signalId} was accepted, and is lost`);
		if (waitpointId !== undefined && signal.waitpointId !== waitpointId)
			throw new Violation(`${reply.signalId} was sent to ${waitpointId}, and came to ${signal.waitpointId}`);
		if (reply.effect !== signal.effect || (key !== "" && signal.idempotencyKey !== key))
			throw new Violation(`${reply.signalId} was ${reply.effect}, and is ${signal.effect} as ${signal.idempotencyKey}`);
	}
}
