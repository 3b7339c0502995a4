import type { WorkerNotice } from "../contract/replies.ts";
import { noticeFor } from "../kernel/reading.ts";
import { type ExecutionRecord, executionKey } from "../kernel/records/execution.ts";
import type { UnitDraft } from "./unit-draft.ts";

type Listener = (notice: WorkerNotice) => void;

/** Tells worker instances in this process what they must hear at once about work they hold. */
export class HolderNotices {
	readonly #listeners = new Map<string, Set<Listener>>();

	listen(instanceId: string, listener: Listener): () => void {
		const listeners = this.#listeners.get(instanceId) ?? new Set();
		this.#listeners.set(instanceId, listeners.add(listener));
		return () => {
			listeners.delete(listener);
			if (listeners.size === 0 && this.#listeners.get(instanceId) === listeners) this.#listeners.delete(instanceId);
		};
	}

	tell(unit: UnitDraft): void {
		if (this.#listeners.size === 0) return;
		for (const { executionId, body } of unit.events) {
			const record = unit.writeOf(executionKey(executionId))?.record as ExecutionRecord | undefined;
			const notice = record && noticeFor(body, record);
			if (!notice) continue;
			const { instanceId, ...rest } = notice;
			for (const listener of this.#listeners.get(instanceId) ?? []) listener(rest);
		}
	}
}
