/**
 * Makes a checkout ready: installs what is missing and builds what is out of date, so that `npm start` and `npm test`
 * work on a fresh clone. With `--tools` it also builds the benchmarks and the simulator.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

function newest(path) {
	if (!existsSync(path)) return 0;
	const { mtimeMs } = statSync(path);
	if (!statSync(path).isDirectory()) return mtimeMs;
	return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

/** On Windows npm is a script, which only a shell may start. */
function run(command, args) {
	execFileSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], shell: command.endsWith(".cmd") });
}

const installed = newest(join(root, "node_modules", ".package-lock.json"));
if (installed < newest(join(root, "package-lock.json"))) {
	process.stdout.write("installing packages (the SQLite driver may be compiled, which takes a minute or two) …\n");
	run(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
}

function build(project, stamp, sources) {
	const built = newest(join(root, stamp));
	const changed = Math.max(...["tsconfig.json", project, ...sources].map((path) => newest(join(root, path))));
	if (built >= changed) return false;
	process.stdout.write(`building ${project} …\n`);
	copyBeside(dirname(stamp));
	run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", project]);
	return true;
}

/** What the compiler leaves alone is needed beside what it writes; first, since its stamp says that all is done. */
function copyBeside(target) {
	const into = join(root, target === "dist" ? target : join(target, "src"));
	for (const file of readdirSync(join(root, "src"), { recursive: true })) {
		if (!/\.(lua|html|css|js)$/.test(file)) continue;
		mkdirSync(dirname(join(into, file)), { recursive: true });
		copyFileSync(join(root, "src", file), join(into, file));
	}
}

/** The compiler never deletes: what it once made of a source that is gone would be packed, and could still be imported. */
function removeLeftovers(output, sources) {
	if (!existsSync(join(root, output))) return;
	for (const file of readdirSync(join(root, output), { recursive: true })) {
		const source = file.replace(/(\.d\.ts|\.js\.map|\.js)$/, ".ts");
		const made = source !== file && !existsSync(join(root, sources, source));
		if (made && !existsSync(join(root, sources, file))) rmSync(join(root, output, file));
	}
}

removeLeftovers("dist", "src");
removeLeftovers(".build", ".");
if (build("tsconfig.build.json", "dist/.tsbuildinfo", ["src"])) {
	try {
		run(process.execPath, [join(root, "scripts", "hover-text.mjs")]);
	} catch (error) {
		// The compiler has said by its stamp that all is done.
		rmSync(join(root, "dist/.tsbuildinfo"), { force: true });
		throw error;
	}
}
if (process.argv.includes("--tools"))
	build("tsconfig.tools.json", ".build/.tsbuildinfo", [
		"src",
		"bench",
		"examples",
		"test/simulation",
		"test/server/abuse",
	]);
