import type { WorkerNotice } from "../contract/replies.ts";
import { noticeFor } from "../kernel/reading.ts";
import { type ExecutionRecord, executionKey } from "../kernel/records/execution.ts";
import { isFor } from "../kernel/target.ts";
import type { UnitDraft } from "./partition/unit-draft.ts";

interface Listener {
	tell: (notice: WorkerNotice) => void;
	/** Instances are named within a namespace: who is bound to one hears of no other's of the same name. */
	namespace: string | undefined;
}

/** Tells worker instances in this process what they must hear at once about work they hold. */
export class HolderNotices {
	readonly #listeners = new Map<string, Set<Listener>>();

	listen(instanceId: string, tell: Listener["tell"], namespace: string | undefined): () => void {
		const listener = { tell, namespace };
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
			for (const { tell, namespace } of this.#listeners.get(instanceId) ?? []) {
				if (isFor(record, namespace)) tell(rest);
			}
		}
	}
}
