import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A folder in which the packed package is installed, as somebody has it who installed it; packages it needs are this checkout's. */
export class PackedInstall {
	readonly folder = mkdtempSync(join(tmpdir(), "flowfabric-packed-"));
	/** What the tarball holds, by path. */
	readonly files: readonly string[];

	constructor() {
		const modules = join(this.folder, "node_modules");
		const target = join(modules, "flowfabric");
		mkdirSync(target, { recursive: true });
		const npm = process.platform === "win32" ? "npm.cmd" : "npm";
		const [packed] = JSON.parse(
			execFileSync(npm, ["pack", "--json", "--ignore-scripts", "--offline", "--pack-destination", this.folder], {
				cwd: root,
				encoding: "utf8",
				stdio: ["ignore", "pipe", "ignore"],
				shell: npm.endsWith(".cmd"),
			}),
		) as { filename: string; files: { path: string }[] }[];
		if (!packed) throw new Error("npm packed nothing");
		this.files = packed.files.map(({ path }) => path);
		execFileSync("tar", ["-xzf", join(this.folder, packed.filename), "--strip-components=1", "-C", target]);
		linkAll(join(root, "node_modules"), modules);
	}

	path(name: string): string {
		return join(this.folder, name);
	}

	remove(): void {
		rmSync(this.folder, { recursive: true });
	}
}

function linkAll(from: string, to: string): void {
	for (const name of readdirSync(from)) {
		if (name.startsWith(".") || name === "flowfabric") continue;
		if (name.startsWith("@")) {
			mkdirSync(join(to, name), { recursive: true });
			for (const inner of readdirSync(join(from, name))) symlinkSync(join(from, name, inner), join(to, name, inner));
		} else symlinkSync(join(from, name), join(to, name));
	}
}
