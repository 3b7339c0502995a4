import type { FrameMode } from "../records/stream.ts";

/**
 * A chunk as it is kept: what its frames have in common, and each frame with its place in the chunk. It is JSON, written by
 * joining the frames as they came: of all there is in a store, frames are the most.
 */
interface StoredChunk {
	at: number;
	epoch: number;
	/** Frames of its mode before the first of these. */
	n: number;
	/** Place and frame, in turns. */
	f: (number | StoredFrame)[];
}

/** A frame as it is kept; short names, since there are so many. */
export interface StoredFrame {
	/** Its type. */
	t?: string;
	/** What it carries: text, base64, or a patch. */
	x?: string;
	b?: string;
	p?: unknown;
	/** The client's sequence number. */
	q?: number;
	/** How long it is shown. */
	e?: number;
}

/** One that is to be kept: as JSON, under the place it has in its chunk. */
export interface PlacedFrame {
	place: number;
	text: string;
}

const utf8 = new TextEncoder();

export function encodeChunk(at: number, epoch: number, before: number, frames: readonly PlacedFrame[]): Uint8Array {
	let members = "";
	for (const { place, text } of frames) members += `${members === "" ? "" : ","}${place},${text}`;
	return utf8.encode(`{"at":${at},"epoch":${epoch},"n":${before},"f":[${members}]}`);
}

/** A frame as it is read. */
export interface Frame extends StoredFrame {
	chunk: number;
	place: number;
	mode: FrameMode;
	at: number;
	epoch: number;
	/** How many of its mode came before it. */
	before: number;
}

export function decodeChunk(text: string, chunk: number, mode: FrameMode): Frame[] {
	const { at, epoch, n, f } = JSON.parse(text) as StoredChunk;
	const frames: Frame[] = [];
	for (let i = 0; i < f.length; i += 2) {
		// The very object that was parsed: to copy each took ten times as long as to parse it.
		const frame = f[i + 1];
		if (!isFrame(frame)) throw new TypeError(`frame ${i / 2} of a chunk is none`);
		frame.chunk = chunk;
		frame.place = f[i] as number;
		frame.mode = mode;
		frame.at = at;
		frame.epoch = epoch;
		frame.before = n + i / 2;
		frames.push(frame);
	}
	return frames;
}

/** Whether it carries what a frame carries. */
function isFrame(value: unknown): value is Frame {
	if (typeof value !== "object" || value === null) return false;
	const { x, b, p } = value as StoredFrame;
	return typeof x === "string" || typeof b === "string" || p !== undefined;
}

/** Where a frame stands in its stream. */
export interface FramePosition {
	chunk: number;
	place: number;
}

export const frameId = ({ chunk, place }: FramePosition): string => `${chunk}-${place}`;

const ID = /^(0|[1-9][0-9]{0,14})-(0|[1-9][0-9]{0,4})$/;

/** Undefined when that is no id of a frame. */
export function framePosition(id: string): FramePosition | undefined {
	const [, chunk, place] = ID.exec(id) ?? [];
	return chunk === undefined || place === undefined ? undefined : { chunk: Number(chunk), place: Number(place) };
}

export const comparePositions = (a: FramePosition, b: FramePosition): number => a.chunk - b.chunk || a.place - b.place;
