import type {
	AdminCalls,
	Backend,
	BudgetCalls,
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
import { RemoteAdmin } from "./admin.ts";
import { RemoteBudgets } from "./budgets.ts";
import { RemoteExecutions } from "./executions.ts";
import { RemoteFeed } from "./feed.ts";
import { RemoteFlows } from "./flows.ts";
import { RemoteLanes } from "./lanes.ts";
import { RemoteLeases } from "./leases.ts";
import type { ConnectOptions } from "./options.ts";
import { RemoteQuotas } from "./quotas.ts";
import { RemoteStreams } from "./streams.ts";
import { Transport } from "./transport.ts";
import { RemoteWaitpoints } from "./waitpoints.ts";
import { RemoteWorkers } from "./workers.ts";

/** The whole interface on a server elsewhere, or on several of one store. Nothing is sent until the first call. */
export class HttpBackend implements Backend {
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
	readonly #transport: Transport;

	constructor(urls: string | readonly string[], options: ConnectOptions = {}) {
		this.#transport = new Transport(urls, options);
		this.executions = new RemoteExecutions(this.#transport);
		this.leases = new RemoteLeases(this.#transport);
		this.workers = new RemoteWorkers(this.#transport);
		this.lanes = new RemoteLanes(this.#transport);
		this.budgets = new RemoteBudgets(this.#transport);
		this.quotas = new RemoteQuotas(this.#transport);
		this.waitpoints = new RemoteWaitpoints(this.#transport);
		this.streams = new RemoteStreams(this.#transport);
		this.flows = new RemoteFlows(this.#transport);
		this.feed = new RemoteFeed(this.#transport);
		this.admin = new RemoteAdmin(this.#transport);
	}

	async close(): Promise<void> {
		await this.#transport.close();
	}
}
