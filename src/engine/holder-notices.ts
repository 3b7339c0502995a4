import type { WorkerNotice } from "../contract/replies.ts";
import { breachNotice, type HolderNotice, noticeFor } from "../kernel/reading.ts";
import { type ExecutionRecord, executionKey } from "../kernel/records/execution.ts";
import { isFor, isWithin } from "../kernel/target.ts";
import type { UnitDraft } from "./partition/unit-draft.ts";

interface Listener {
	tell: (notice: WorkerNotice) => void;
	/** Instances are named within a namespace: who is bound to one hears of no other's of the same name. */
	namespace: string | undefined;
}

/** What engines say to each other: a notice for an instance that may listen elsewhere. */
interface Message {
	instanceId: string;
	namespace: string;
	notice: WorkerNotice;
}

/**
 * Tells worker instances what they must hear at once about work they hold: those that listen in this process, and
 * through the other engines on the store those that listen there. What is lost on the way their next renewal tells.
 */
export class HolderNotices {
	readonly #listeners = new Map<string, Set<Listener>>();
	readonly #say: ((text: string) => void) | undefined;

	constructor(say: ((text: string) => void) | undefined) {
		this.#say = say;
	}

	listen(instanceId: string, tell: Listener["tell"], namespace: string | undefined): () => void {
		const listener = { tell, namespace };
		const listeners = this.#listeners.get(instanceId) ?? new Set();
		this.#listeners.set(instanceId, listeners.add(listener));
		return () => {
			listeners.delete(listener);
			if (listeners.size === 0 && this.#listeners.get(instanceId) === listeners) this.#listeners.delete(instanceId);
		};
	}

	/** A unit was committed here. */
	tell(unit: UnitDraft): void {
		if (this.#listeners.size === 0 && !this.#say) return;
		for (const { executionId, body } of unit.events) {
			if (executionId === undefined) continue;
			const record = unit.writeOf(executionKey(executionId))?.record as ExecutionRecord | undefined;
			const meant = record && isFor(record, undefined) && noticeFor(body, record);
			if (!meant) continue;
			this.#send(meant, record.namespace);
		}
	}

	/** A budget refused a report, and whoever holds this goes on. */
	tellOfBreach(record: ExecutionRecord): void {
		this.#send(breachNotice(record), record.namespace);
	}

	#send({ instanceId, ...notice }: HolderNotice, namespace: string): void {
		const message = { instanceId, namespace, notice };
		if (this.#listeners.has(instanceId)) this.#deliver(message);
		else this.#say?.(JSON.stringify(message));
	}

	/** Another engine, or this one, said so; or somebody else, whom nobody understands. */
	hear(text: string): void {
		if (this.#listeners.size === 0) return;
		try {
			const message = JSON.parse(text) as Message;
			if (message.notice) this.#deliver(message);
		} catch {
			// Those it may have been meant for are told with their next renewal.
		}
	}

	#deliver({ instanceId, namespace, notice }: Message): void {
		for (const listener of this.#listeners.get(instanceId) ?? [])
			if (isWithin(namespace, listener.namespace)) listener.tell(notice);
	}
}
