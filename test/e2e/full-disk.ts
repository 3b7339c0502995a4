import { execFile } from "node:child_process";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const DISK_BYTES = 96 * 1024 * 1024;
/** Smaller than a page: the log of the store cannot be written any more, not even from its beginning. */
const FULL_AT_BYTES = 1024;

/** A folder whose disk can be made full, and have room again. */
export interface SmallDisk {
	/** How it is made full, for whoever reads of it. */
	how: string;
	folder: string;
	/** Fills it for a process, and everybody else where that can be. */
	fill(pid: number): Promise<void>;
	free(pid: number): Promise<void>;
	discard(): Promise<void>;
}

/** A disk of its own that is really full; where none can be mounted, files that the operating system lets grow no more. */
export async function smallDisk(): Promise<SmallDisk> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-disk-"));
	try {
		await run("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", folder]);
		return mounted(folder);
	} catch {
		return limited(folder);
	}
}

function mounted(folder: string): SmallDisk {
	const ballast = join(folder, "ballast");
	return {
		how: "a disk without room (ENOSPC)",
		folder,
		fill: () => writeUntilFull(ballast),
		free: () => rm(ballast),
		async discard() {
			await run("umount", ["--lazy", folder]);
			await rm(folder, { recursive: true });
		},
	};
}

function limited(folder: string): SmallDisk {
	const limit = (pid: number, most: string) => run("prlimit", ["--pid", String(pid), `--fsize=${most}:`]);
	return {
		how: "a limit on the size of files (EFBIG), as no disk can be mounted here",
		folder,
		fill: async (pid) => void (await limit(pid, String(FULL_AT_BYTES))),
		// Whoever has ended needs no room.
		free: async (pid) => void (await limit(pid, "unlimited").catch(() => {})),
		discard: () => rm(folder, { recursive: true }),
	};
}

async function writeUntilFull(path: string): Promise<void> {
	const file = await open(path, "w");
	try {
		// Ever smaller pieces: not a byte is left over.
		for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 16)) await writeAll(file, Buffer.alloc(size));
	} finally {
		await file.close();
	}
}

async function writeAll(file: Awaited<ReturnType<typeof open>>, piece: Buffer): Promise<void> {
	for (;;) {
		try {
			await file.writev([piece]);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOSPC") return;
			throw error;
		}
	}
}
