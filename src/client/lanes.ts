import type { LaneCalls } from "../contract/backend.ts";
import {
	type LaneSettings,
	type LanesPageRequest,
	type LanesRequest,
	laneShape,
	lanesPageRequest,
	lanesRequest,
} from "../contract/lanes.ts";
import type { LanePage, LaneStatus } from "../contract/replies.ts";
import { plainBody, queryOf } from "./bodies.ts";
import type { Transport } from "./transport.ts";

export class RemoteLanes implements LaneCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async list(request: LanesPageRequest = {}): Promise<LanePage> {
		const path = `/v1/lanes${queryOf(lanesPageRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async pause(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change("POST", lane, "/pause", request, {});
	}

	async resume(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change("POST", lane, "/resume", request, {});
	}

	async drain(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change("POST", lane, "/drain", request, {});
	}

	async update(lane: string, settings: LaneSettings, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change("PATCH", lane, "", request, settings);
	}

	/** The name is checked here: as part of a path it would be taken for another, or for none. */
	async #change(
		method: "POST" | "PATCH",
		lane: string,
		rest: string,
		request: LanesRequest,
		body: unknown,
	): Promise<LaneStatus> {
		laneShape.check({ lane });
		const path = `/v1/lanes/${encodeURIComponent(lane)}${rest}${queryOf(lanesRequest.check(request))}`;
		return this.#transport.json({ method, path, body: plainBody(body), repeat: "always" });
	}
}
