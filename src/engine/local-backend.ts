import type {
	AdminCalls,
	Backend,
	BudgetCalls,
	Calls,
	ExecutionCalls,
	FeedCalls,
	FlowCalls,
	LaneCalls,
	LeaseCalls,
	QuotaCalls,
	StreamCalls,
	WaitpointCalls,
	WorkerCalls,
} from "../contract/backend.ts";
import { LocalAdmin } from "./calls/admin.ts";
import { LocalBudgets } from "./calls/budgets.ts";
import { LocalExecutions } from "./calls/executions.ts";
import { LocalFeed } from "./calls/feed.ts";
import { LocalFlows } from "./calls/flows.ts";
import { LocalLanes } from "./calls/lanes.ts";
import { LocalLeases } from "./calls/leases.ts";
import { LocalQuotas } from "./calls/quotas.ts";
import { type Caller, Session } from "./calls/session.ts";
import { LocalStreams } from "./calls/streams.ts";
import { LocalWaitpoints } from "./calls/waitpoints.ts";
import { LocalWorkers } from "./calls/workers.ts";
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
	readonly workers: WorkerCalls;
	readonly lanes: LaneCalls;
	readonly budgets: BudgetCalls;
	readonly quotas: QuotaCalls;
	readonly waitpoints: WaitpointCalls;
	readonly streams: StreamCalls;
	readonly flows: FlowCalls;
	readonly feed: FeedCalls;
	readonly admin: AdminCalls;
	readonly #session: Session;

	constructor({ engine, retentionMs, ...caller }: LocalBackendOptions) {
		this.engine = engine;
		const { store } = engine;
		const notices = new HolderNotices(store.say && ((text) => store.say?.(text)));
		store.onSaid?.((text) => notices.hear(text));
		engine.onCommitted = (unit) => notices.tell(unit);
		engine.onBreach = (record) => notices.tellOfBreach(record);
		this.#session = new Session(engine, notices, retentionMs, caller);
		const calls = callsAt(this.#session);
		this.executions = calls.executions;
		this.leases = calls.leases;
		this.workers = calls.workers;
		this.lanes = calls.lanes;
		this.budgets = calls.budgets;
		this.quotas = calls.quotas;
		this.waitpoints = calls.waitpoints;
		this.streams = calls.streams;
		this.flows = calls.flows;
		this.feed = calls.feed;
		this.admin = calls.admin;
	}

	/** The same engine as another caller sees it. It costs nothing, and ends with this backend. */
	as(caller: Caller): Calls {
		return callsAt(this.#session.for(caller));
	}

	async close(): Promise<void> {
		await this.engine.close();
	}
}

const callsAt = (session: Session): Calls => ({
	executions: new LocalExecutions(session),
	leases: new LocalLeases(session),
	workers: new LocalWorkers(session),
	lanes: new LocalLanes(session),
	budgets: new LocalBudgets(session),
	quotas: new LocalQuotas(session),
	waitpoints: new LocalWaitpoints(session),
	streams: new LocalStreams(session),
	flows: new LocalFlows(session),
	feed: new LocalFeed(session),
	admin: new LocalAdmin(session),
});
