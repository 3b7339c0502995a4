import type { QuotaCalls } from "../contract/backend.ts";
import {
	type GuardRequest,
	type GuardsPageRequest,
	guardIdShape,
	guardRequest,
	guardsPageRequest,
} from "../contract/guards.ts";
import type { CreateQuotaRequest, PatchQuotaRequest } from "../contract/quotas.ts";
import type { CreatedQuota, QuotaPage, QuotaView } from "../contract/replies.ts";
import { plainBody, queryOf } from "./bodies.ts";
import type { Transport } from "./transport.ts";

/** Quotas over HTTP. */
export class RemoteQuotas implements QuotaCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async create(request: CreateQuotaRequest): Promise<CreatedQuota> {
		return this.#transport.json({ method: "POST", path: "/v1/quotas", body: plainBody(request), repeat: "always" });
	}

	async get(id: string, request: GuardRequest = {}): Promise<QuotaView> {
		return this.#transport.json({ method: "GET", path: pathOf(id, request), repeat: "always" });
	}

	async list(request: GuardsPageRequest = {}): Promise<QuotaPage> {
		const path = `/v1/quotas${queryOf(guardsPageRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async patch(id: string, changes: PatchQuotaRequest, request: GuardRequest = {}): Promise<QuotaView> {
		const path = pathOf(id, request);
		return this.#transport.json({ method: "PATCH", path, body: plainBody(changes), repeat: "always" });
	}

	/** Sent again only if it was not done: by then there may be another of that name. */
	async delete(id: string, request: GuardRequest = {}): Promise<{ deleted: true }> {
		return this.#transport.json({ method: "DELETE", path: pathOf(id, request), repeat: "undone" });
	}
}

/** The name is checked here: as part of a path it would be taken for another, or for none. */
function pathOf(id: string, request: GuardRequest): string {
	guardIdShape.check({ id });
	return `/v1/quotas/${encodeURIComponent(id)}${queryOf(guardRequest.check(request))}`;
}
