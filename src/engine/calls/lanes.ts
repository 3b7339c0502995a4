import type { LaneCalls } from "../../contract/backend.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import {
	type LaneSettings,
	type LanesPageRequest,
	type LanesRequest,
	laneSettings,
	laneShape,
	lanesPageRequest,
	lanesRequest,
} from "../../contract/lanes.ts";
import type { LanePage, LaneStatus } from "../../contract/replies.ts";
import { shownLaneState } from "../../kernel/reading.ts";
import type { LaneState } from "../../kernel/records/lane.ts";
import { listLanes } from "../reading/lane-listing.ts";
import type { Session } from "./session.ts";

/** The lanes of a namespace, from what each partition has queued for them. */
export class LocalLanes implements LaneCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async list(request: LanesPageRequest = {}): Promise<LanePage> {
		const { limit = DEFAULT_LIMIT, cursor, ...given } = lanesPageRequest.check(request);
		const namespace = this.#session.namespaceFor(given.namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const list = `lanes of ${namespace}`;
		const [after = ""] = cursor === undefined ? [] : await engine.cursors.decode(list, cursor, ["string"]);
		const { lanes, next } = await listLanes(this.#session, namespace, limit, String(after));
		return { lanes, ...(next === undefined ? undefined : { nextCursor: await engine.cursors.encode(list, [next]) }) };
	}

	async pause(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, { state: "paused" });
	}

	async resume(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, { state: "open" });
	}

	async drain(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, { state: "draining" });
	}

	async update(lane: string, settings: LaneSettings, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, laneSettings.check(settings));
	}

	async #change(
		lane: string,
		request: LanesRequest,
		change: { state?: LaneState; agingMs?: number },
	): Promise<LaneStatus> {
		laneShape.check({ lane });
		const namespace = this.#session.namespaceFor(lanesRequest.check(request).namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		engine.nameLimits.checkLane(namespace, lane);
		const { state, agingMs } = await engine.lanes.change(namespace, lane, change);
		await engine.pausedLanes.settled();
		return { lane, namespace, state: shownLaneState(state), agingMs };
	}
}
