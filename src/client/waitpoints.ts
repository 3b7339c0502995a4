import { randomUUID } from "node:crypto";
import type { WaitpointCalls } from "../contract/backend.ts";
import { slotOfGivenId } from "../contract/ids.ts";
import type {
	InboxPage,
	ResumeReply,
	SignalPage,
	SignalReply,
	WaitpointPage,
	WaitpointToken,
} from "../contract/replies.ts";
import {
	type ApproveRequest,
	type CallbackRequest,
	type InboxRequest,
	inboxRequest,
	type ResumeRequest,
	type SignalRequest,
	type SignalsRequest,
	signalsRequest,
	type WaitpointsRequest,
	waitpointsRequest,
} from "../contract/waitpoints.ts";
import { bodyWith, plainBody, queryOf } from "./bodies.ts";
import { pathOf } from "./executions.ts";
import type { Transport } from "./transport.ts";

/** Waitpoints and signals over HTTP. A signal goes out under a key, so that it can be sent again and counts once. */
export class RemoteWaitpoints implements WaitpointCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async inbox(request: InboxRequest = {}): Promise<InboxPage> {
		const path = `/v1/waitpoints${queryOf(inboxRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async list(id: string, request: WaitpointsRequest = {}): Promise<WaitpointPage> {
		const path = pathOf(id, `/waitpoints${queryOf(waitpointsRequest.check(request))}`);
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async token(id: string, waitpointId: string): Promise<WaitpointToken> {
		slotOfGivenId("wp", waitpointId, "waitpointId");
		const path = pathOf(id, `/waitpoints/${waitpointId}/token`);
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async signals(id: string, request: SignalsRequest = {}): Promise<SignalPage> {
		const path = pathOf(id, `/signals${queryOf(signalsRequest.check(request))}`);
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async signal(id: string, request: SignalRequest): Promise<SignalReply> {
		const keyed =
			typeof request === "object" && request?.idempotencyKey === undefined
				? { ...request, idempotencyKey: randomUUID() }
				: request;
		return this.#transport.json({
			method: "POST",
			path: `/v1/executions/${encodeURIComponent(id)}/signals`,
			body: bodyWith("payload", keyed),
			// An empty key is none: then it would count again.
			repeat: keyed?.idempotencyKey === "" ? "undone" : "always",
		});
	}

	async callback(waitpointId: string, { bytes, ...request }: CallbackRequest): Promise<SignalReply> {
		const { token, name, idempotencyKey = randomUUID(), contentType } = request;
		const path = `/v1/callbacks/${encodeURIComponent(waitpointId)}${queryOf({ token, name, idempotencyKey })}`;
		return this.#transport.json({ method: "POST", path, bytes, contentType, repeat: "always" });
	}

	async approve(id: string, request: ApproveRequest): Promise<SignalReply> {
		const path = pathOf(id, "/approve");
		return this.#transport.json({ method: "POST", path, body: bodyWith("payload", request), repeat: "undone" });
	}

	async resume(id: string, request: ResumeRequest = {}): Promise<ResumeReply> {
		const path = pathOf(id, "/resume");
		return this.#transport.json({ method: "POST", path, body: plainBody(request), repeat: "undone" });
	}
}
