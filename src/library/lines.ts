import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Writes lines to a new file; one that could not be finished is removed, one that was there before is left alone. */
export async function writeLines(lines: AsyncIterable<string>, path: string): Promise<void> {
	const ended = async function* () {
		for await (const line of lines) yield `${line}\n`;
	};
	const file = createWriteStream(path, { flags: "wx" });
	let made = false;
	file.once("open", () => (made = true));
	try {
		await pipeline(Readable.from(ended()), file);
	} catch (error) {
		if (made) await rm(path, { force: true });
		throw error;
	}
}
