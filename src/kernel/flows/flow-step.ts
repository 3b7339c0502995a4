import type { Deed } from "../changing.ts";
import type { EventBody, EventDraft } from "../events.ts";
import {
	type FlowProgressRecord,
	type FlowRecord,
	flowKey,
	flowProgressDefaults,
	flowProgressKey,
} from "../records/flow.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";

/** A flow during one step: what changes of its own record is gathered, and written once at the end. */
export class FlowStep {
	readonly tx: Tx;
	readonly deed: Deed;
	flow: FlowRecord;
	readonly #flowBefore: FlowRecord;

	/** `flow` is as it is stored, or, when it is new, about to be. */
	constructor(tx: Tx, flow: FlowRecord, deed: Deed, isNew = false) {
		this.tx = tx;
		this.deed = deed;
		this.flow = flow;
		this.#flowBefore = flow;
		const key = flowProgressKey(flow.id);
		if (isNew) {
			tx.getFresh(key);
			tx.put(key, flowProgressDefaults);
		}
	}

	/** Every change of a member is counted here as well: so it is never kept beside. */
	get progress(): FlowProgressRecord {
		return this.tx.get(flowProgressKey(this.flow.id)) ?? flowProgressDefaults;
	}

	amend(changes: Partial<FlowRecord>): void {
		this.flow = amend(this.flow, changes);
	}

	/** Adds to what is counted of its members. */
	count(more: Partial<Pick<FlowProgressRecord, "ended" | "bad" | "busy">>): void {
		const { progress } = this;
		const { ended, bad, busy } = progress;
		this.#write(
			amend(progress, {
				ended: ended + (more.ended ?? 0),
				bad: bad + (more.bad ?? 0),
				busy: busy + (more.busy ?? 0),
			}),
		);
	}

	/** Tells of something that concerns the flow as a whole. */
	tell({ type, ...details }: EventDraft): void {
		const { progress } = this;
		const seq = progress.events + 1;
		this.#write(amend(progress, { events: seq }));
		const { id: flowId, namespace } = this.flow;
		const body: EventBody = { seq, type, actor: this.deed.actor, ...details };
		this.tx.emit({ namespace, flowId, at: this.deed.now, body });
	}

	write(): void {
		if (this.flow !== this.#flowBefore) this.tx.put(flowKey(this.flow.id), this.flow);
	}

	#write(progress: FlowProgressRecord): void {
		this.tx.put(flowProgressKey(this.flow.id), progress);
	}
}
