import { FRAME_MODES } from "../../kernel/records/stream.ts";
import { CLOSE_REASONS } from "../../kernel/streams/closing.ts";
import { type Static, Type } from "../schema.ts";
import { at, count, one, text } from "./parts.ts";

/** What is told of the streams of attempts. */

const optional = Type.Optional;

export const frame = Type.Object({
	id: text("Its place in the stream; read on from it"),
	at: at("When it was kept"),
	type: text("What kind of frame it is, as its handler named it"),
	mode: one(FRAME_MODES, "How it is kept"),
	attempt: count("The attempt that wrote it"),
	epoch: count("The epoch of the lease it was written under"),
	text: optional(text("What it carries, if text")),
	payloadBase64: optional(text("What it carries as base64, if bytes")),
	patch: optional(Type.Unknown({ description: "What it carries, if it is a JSON Merge Patch to the summary" })),
	seq: optional(count("Its number within its lease, if its writer gave one")),
});

/** A piece of what a handler told while it ran. */
export interface FrameView extends Static<typeof frame> {}

const closing = {
	closedAt: optional(at("When the stream was closed; left out while it is open")),
	closeReason: optional(one(CLOSE_REASONS, "Why it was closed")),
};

const page = {
	frames: Type.Array(frame, { description: "Oldest first" }),
	nextFrom: optional(text("Where to continue; left out at the end")),
	...closing,
};

export const framePage = Type.Object(page);

/** Frames of a stream. Without frames and `closedAt` it is still open. */
export interface FramePage extends Static<typeof framePage> {}

export const tailedPage = Type.Object({
	...page,
	after: optional(text("On an empty page after end: the current end, to continue from")),
});

/** Frames behind a position. */
export interface TailedPage extends Static<typeof tailedPage> {}

export const appended = Type.Object({
	lastId: text("The id of the last frame of the stream"),
	frameCount: count("How many frames the stream has had"),
	summaryVersion: optional(count("How many patches the summary has had; left out for none")),
});

/** What a stream has come to with the frames that were appended. */
export interface AppendedFrames extends Static<typeof appended> {}

export const summary = Type.Object({
	document: Type.Unknown({ description: "The document with all patches applied" }),
	version: count("How many patches it has had"),
	updatedAt: at("When the last of them came"),
});

/** The document that the patches of a stream come to. */
export interface SummaryView extends Static<typeof summary> {}
