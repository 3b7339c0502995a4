import type { Backend, ExecutionCalls, LeaseCalls } from "../contract/backend.ts";
import { RemoteExecutions } from "./executions.ts";
import { RemoteLeases } from "./leases.ts";
import type { ConnectOptions } from "./options.ts";
import { Transport } from "./transport.ts";

/** The whole interface on a server elsewhere. Nothing is sent until the first call. */
export class HttpBackend implements Backend {
	readonly executions: ExecutionCalls;
	readonly leases: LeaseCalls;
	readonly #transport: Transport;

	constructor(url: string, options: ConnectOptions = {}) {
		this.#transport = new Transport(url, options);
		this.executions = new RemoteExecutions(this.#transport);
		this.leases = new RemoteLeases(this.#transport);
	}

	async close(): Promise<void> {
		await this.#transport.close();
	}
}
