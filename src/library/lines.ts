import { open, rm } from "node:fs/promises";

const CHUNK_CHARS = 64 * 1024;

const FOR_ITS_OWNER = 0o600;

/**
 * Writes lines to a new file; one that could not be finished is removed, one that was there before is left alone. What is
 * secret is for nobody else on the machine to read.
 */
export async function writeLines(lines: AsyncIterable<string>, path: string, isSecret = false): Promise<void> {
	const file = await open(path, "wx", isSecret ? FOR_ITS_OWNER : undefined);
	let complete = false;
	try {
		let chunk = "";
		for await (const line of lines) {
			chunk += `${line}\n`;
			if (chunk.length < CHUNK_CHARS) continue;
			await file.appendFile(chunk);
			chunk = "";
		}
		await file.appendFile(chunk);
		await file.sync();
		complete = true;
	} finally {
		await file.close();
		if (!complete) await rm(path, { force: true });
	}
}
