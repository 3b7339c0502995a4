import type { LaneCalls } from "../contract/backend.ts";
import { type LanesRequest, lanesRequest } from "../contract/lanes.ts";
import type { LaneView } from "../contract/replies.ts";
import { queryOf } from "./bodies.ts";
import type { Transport } from "./transport.ts";

export class RemoteLanes implements LaneCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async list(request: LanesRequest = {}): Promise<{ lanes: LaneView[] }> {
		const path = `/v1/lanes${queryOf(lanesRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}
}
