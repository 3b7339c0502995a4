import type { WorkerCalls } from "../contract/backend.ts";
import type { WorkerPage, WorkerView } from "../contract/replies.ts";
import {
	type RegisterWorkerRequest,
	type WorkersPageRequest,
	type WorkersRequest,
	workersPageRequest,
	workersRequest,
} from "../contract/workers.ts";
import { plainBody, queryOf } from "./bodies.ts";
import type { Transport } from "./transport.ts";

/** The registry of workers over HTTP; saying the same twice changes nothing. */
export class RemoteWorkers implements WorkerCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async register(instanceId: string, request: RegisterWorkerRequest, signal?: AbortSignal): Promise<WorkerView> {
		return this.#transport.json({
			method: "PUT",
			path: pathOf(instanceId),
			body: plainBody(request),
			repeat: "always",
			signal,
		});
	}

	async remove(instanceId: string, request: WorkersRequest = {}, signal?: AbortSignal): Promise<{ removed: boolean }> {
		const path = pathOf(instanceId) + queryOf(workersRequest.check(request));
		return this.#transport.json({ method: "DELETE", path, repeat: "undone", signal });
	}

	async list(request: WorkersPageRequest = {}): Promise<WorkerPage> {
		const path = `/v1/workers${queryOf(workersPageRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}
}

const pathOf = (instanceId: string): string => `/v1/workers/${encodeURIComponent(instanceId)}`;
