import { FRAME_MODES, type FrameMode } from "../kernel/records/stream.ts";
import { base64, fence, integer, text } from "./fields.ts";
import { described, type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Requests about the streams of attempts. */

const strict = { additionalProperties: false, allowed: "must be an object" };

export const MAX_FRAME_BYTES = 64 * 1024;
/** Frames of one call together. */
export const MAX_APPEND_BYTES = 1024 * 1024;
export const MAX_FRAMES_AT_ONCE = 1000;
export const MAX_TAIL_WAIT_MS = 30_000;
export const MAX_FRAMES_READ = 10_000;

const frame = Type.Object(
	{
		type: Type.Optional(text(1, 64, "Kind of frame (text, data or patch, by content)")),
		mode: Type.Optional(
			Type.Unsafe<FrameMode>(
				Type.Enum([...FRAME_MODES], {
					description: "How it is kept (durable)",
					allowed: `must be one of ${FRAME_MODES.join(", ")}`,
				}),
			),
		),
		text: Type.Optional(Type.String({ description: "What it carries, if text", allowed: "must be a string" })),
		payloadBase64: Type.Optional(described(base64, "What it carries as base64, if bytes")),
		patch: Type.Optional(Type.Unknown({ description: "A JSON Merge Patch (RFC 7396), for a summary frame" })),
		seq: Type.Optional(
			integer(1, Number.MAX_SAFE_INTEGER, "Ascending within a lease: a repeated frame is not stored twice"),
		),
		ttlMs: Type.Optional(integer(1, 3_600_000, "How long a best_effort frame is kept (60000)")),
	},
	strict,
);

/** A frame to append to a stream. */
export type FrameRequest = Static<typeof frame>;

export const frameRequest = shape(frame);

export const appendFramesRequest = shape(
	Type.Object(
		{
			fence: Type.Optional(fence),
			frames: Type.Array(frame, {
				minItems: 1,
				description: "The frames, in their order",
				maxItems: MAX_FRAMES_AT_ONCE,
				allowed: `must be an array of 1 to ${MAX_FRAMES_AT_ONCE} frames`,
			}),
		},
		strict,
	),
);

/** Frames to append to the stream of an attempt. */
export type AppendFramesRequest = Static<typeof appendFramesRequest.schema>;

const frameIdField = Type.String({
	pattern: "^(0|[1-9][0-9]{0,14})-(0|[1-9][0-9]{0,4})$",
	description: "Id of a frame",
	allowed: "must be the id of a frame",
});

export const readFramesRequest = shape(
	Type.Object(
		{
			from: Type.Optional(described(frameIdField, "Frames from this one on (the first)")),
			to: Type.Optional(described(frameIdField, "Frames up to this one (the last)")),
			limit: Type.Optional(integer(1, MAX_FRAMES_READ, "Maximum frames per page (1000)")),
		},
		strict,
	),
);

/** Which range of frames to read. */
export type ReadFramesRequest = Static<typeof readFramesRequest.schema>;

const after = Type.String({
	pattern: "^(start|end|(0|[1-9][0-9]{0,14})-(0|[1-9][0-9]{0,4}))$",
	description: "Frames after this one; start for all, end for new ones only (start)",
	allowed: "must be the id of a frame, start or end",
});

export const tailFramesRequest = shape(
	Type.Object(
		{
			after: Type.Optional(after),
			waitMs: Type.Optional(integer(0, MAX_TAIL_WAIT_MS, "How long to wait for frames (0)")),
			limit: Type.Optional(integer(1, MAX_FRAMES_READ, "Maximum frames per page (1000)")),
		},
		strict,
	),
);

/** Which frames to read, and how long to wait for them. */
export type TailFramesRequest = Static<typeof tailFramesRequest.schema>;

/** How far a reader that follows a stream has come. */
export const followFramesRequest = shape(Type.Object({ after: Type.Optional(after) }, strict));

export const attemptIndex = shape(Type.Object({ attempt: integer(0, 1_000_000, "Index of an attempt") }, strict));
