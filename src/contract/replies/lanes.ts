import type { PublicState } from "../../kernel/state.ts";
import { type Static, type TInteger, type TOptional, Type } from "../schema.ts";
import { count, nextCursor, one, text } from "./parts.ts";

export const laneState = one(
	["active", "paused", "draining"],
	"Whether it hands out work and takes submissions; paused hands out none, draining takes none",
);

const agingMs = Type.Number({ description: "How many milliseconds of waiting one step of priority is worth" });

export const laneStatus = Type.Object({
	lane: text("Its name"),
	namespace: text("The tenant it belongs to"),
	state: laneState,
	agingMs,
});

/** A lane's state and settings. */
export interface LaneStatus extends Static<typeof laneStatus> {}

const some = Type.Optional(count("How many are in this state"));

const depth = {
	waiting: some,
	delayed: some,
	rate_limited: some,
	waiting_children: some,
	active: some,
	suspended: some,
	completed: some,
	failed: some,
	cancelled: some,
	expired: some,
	skipped: some,
} satisfies Record<PublicState, TOptional<TInteger>>;

export const lane = Type.Object({
	lane: text("Its name"),
	state: laneState,
	agingMs,
	depth: Type.Object(depth, {
		description: "Executions by public state; states without any are left out",
	}),
	oldestWaitingMs: Type.Optional(
		count("Age, since its creation, of the oldest waiting execution, in milliseconds; left out when none waits"),
	),
	perMinute: Type.Number({ description: "Executions that ended in the last 60 seconds through this engine" }),
});

/** A lane, how much is in it by state, the age of what waits longest, and how much ended in the last minute. */
export interface LaneView extends Static<typeof lane> {}

export const lanePage = Type.Object({ lanes: Type.Array(lane, { description: "By name" }), nextCursor });

/** A page of lanes by name; `nextCursor` leads to the next and is left out on the last. */
export interface LanePage extends Static<typeof lanePage> {}
