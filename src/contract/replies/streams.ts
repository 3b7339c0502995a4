import { FRAME_MODES } from "../../kernel/records/stream.ts";
import { CLOSE_REASONS } from "../../kernel/streams/closing.ts";
import { type Static, Type } from "../schema.ts";
import { at, count, one } from "./parts.ts";

/** What is told of the streams of attempts. */

const optional = Type.Optional;

export const frame = Type.Object({
	id: Type.String(),
	at,
	type: Type.String(),
	mode: one(FRAME_MODES),
	attempt: count,
	epoch: count,
	text: optional(Type.String()),
	payloadBase64: optional(Type.String()),
	patch: optional(Type.Unknown()),
	seq: optional(count),
});

/** A piece of what a handler told while it ran. */
export interface FrameView extends Static<typeof frame> {}

const closing = { closedAt: optional(at), closeReason: optional(one(CLOSE_REASONS)) };

const page = {
	frames: Type.Array(frame),
	nextFrom: optional(Type.String({ description: "Where to continue; left out at the end" })),
	...closing,
};

export const framePage = Type.Object(page);

/** Frames of a stream. Without frames and `closedAt` it is still open. */
export interface FramePage extends Static<typeof framePage> {}

export const tailedPage = Type.Object({
	...page,
	after: optional(Type.String({ description: "On an empty page after end: the current end, to continue from" })),
});

/** Frames behind a position. */
export interface TailedPage extends Static<typeof tailedPage> {}

export const appended = Type.Object({
	lastId: Type.String(),
	frameCount: count,
	summaryVersion: optional(count),
});
export interface AppendedFrames extends Static<typeof appended> {}

export const summary = Type.Object({ document: Type.Unknown(), version: count, updatedAt: at });

/** The document that the patches of a stream come to. */
export interface SummaryView extends Static<typeof summary> {}
