import type { ClaimedExecution } from "../contract/replies.ts";
import { CHARS_PER_TURN, jsonTexts } from "./written-json.ts";

/**
 * Characters of an answer to a claim. The engine gives out about 4 MiB at a time, but control characters take six times
 * their room as JSON: what does not fit beside the first is handed back.
 */
const MOST_CHARS = 8 * 1024 * 1024;

export interface ClaimAnswer {
	body: Buffer;
	/** How many of the executions are in it; the others did not fit. */
	fitting: number;
}

/** Written in turns: what claimed work is handed may be megabytes, and of the smallest values those take long. */
export async function claimAnswer(executions: readonly ClaimedExecution[]): Promise<ClaimAnswer> {
	const pieces: Buffer[] = [];
	let piece = '{"executions":[';
	let length = 0;
	let fitting = 0;
	for (const execution of executions) {
		// Where it is cut off again if it does not fit.
		const before = { pieces: pieces.length, piece };
		if (fitting > 0) piece += ",";
		for (const text of jsonTexts(execution)) {
			length += text.length;
			if (fitting > 0 && length > MOST_CHARS) break;
			piece += text;
			if (piece.length < CHARS_PER_TURN) continue;
			pieces.push(Buffer.from(piece));
			piece = "";
			await new Promise(setImmediate);
		}
		if (fitting > 0 && length > MOST_CHARS) {
			pieces.length = before.pieces;
			piece = before.piece;
			break;
		}
		fitting += 1;
	}
	pieces.push(Buffer.from(`${piece}]}`));
	return { body: Buffer.concat(pieces), fitting };
}
