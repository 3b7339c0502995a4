import type { Backend, ExecutionCalls, LeaseCalls } from "../contract/backend.ts";
import { type Caller, Desk } from "./calls/desk.ts";
import { LocalExecutions } from "./calls/executions.ts";
import { LocalLeases } from "./calls/leases.ts";
import type { Engine } from "./engine.ts";
import { HolderNotices } from "./holder-notices.ts";

export interface LocalBackendOptions extends Caller {
	engine: Engine;
	/** How long ended executions are kept unless their policy says otherwise. */
	retentionMs: number;
}

/** The whole interface on an engine in this process, as one caller sees it. */
export class LocalBackend implements Backend {
	readonly engine: Engine;
	readonly executions: ExecutionCalls;
	readonly leases: LeaseCalls;
	readonly #desk: Desk;

	constructor({ engine, retentionMs, ...caller }: LocalBackendOptions) {
		this.engine = engine;
		const notices = new HolderNotices();
		engine.onCommitted = (unit) => notices.tell(unit);
		this.#desk = new Desk(engine, notices, retentionMs, caller);
		this.executions = new LocalExecutions(this.#desk);
		this.leases = new LocalLeases(this.#desk);
	}

	async close(): Promise<void> {
		await this.engine.close();
	}
}
