"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("filters").elements;
const detail = document.getElementById("detail"), body = document.querySelector("#table tbody");
const more = document.getElementById("more"), FIRST = 25;
const text = (place) => data.texts[place];
const words = (place) => text(place).split(" ").filter(Boolean);
const node = (name, content = "", extra = {}) => Object.assign(document.createElement(name), { textContent: content }, extra);
let all = false;

function offer(name, values) {
  form[name].append(...values.map((value) => node("option", value, { value })));
}
const distinct = (field) => [...new Set(data.releases.flatMap((release) => release[3].flatMap((build) => words(build[field]))))];
const number = (text) => text.split(".").map((part) => part.padStart(5, "0")).join(".");
offer("driver", data.drivers);
offer("python", distinct(3).filter((one) => !one.endsWith("t")).sort((a, b) => (number(a) < number(b) ? 1 : -1)));
offer("platform", distinct(4).sort());
form.platform.value = "linux_x86_64";
form.gpu.addEventListener("focus", () => { // thousands of nodes that the first view does not need
  const names = data.devices.flatMap(([, target, products]) => [target, ...products]);
  document.getElementById("gpus").append(...names.map((value) => node("option", "", { value })));
}, { once: true });

// A target, a product's name, or the end of one: "RTX 5090" is "NVIDIA GeForce RTX 5090".
function device(name) {
  const wanted = name.trim().toLowerCase();
  const by = (fits) => data.devices.findIndex(([, target, products]) => [target, ...products].some((one) => fits(one.toLowerCase())));
  const exact = by((one) => one === wanted);
  return !wanted ? -1 : exact >= 0 ? exact : by((one) => one.endsWith(" " + wanted));
}

// The judgements that were made before, by the build's kind and the device: without a driver, then with each.
const judged = (build, place) => data.rows[data.kinds[build[8]][place]].map((one) => data.cells[one]);

function cell(build, place) {
  const cells = judged(build, place), driver = data.drivers.indexOf(form.driver.value) + 1;
  return cells[driver < cells.length ? driver : 0];
}

// The drivers of the list, newest first, with which a device runs a build.
function serving(build, place) {
  const found = judged(build, place).slice(1).flatMap(([state], index) => (["native", "ptx"].includes(state) ? [data.drivers[index]] : []));
  return found.length ? `${found.at(-1)} to ${found[0]} (${found.length} of the branches that are listed)` : "";
}

// Names a build in an address: two of one runtime are for other platforms.
const name = (build) => [build[0], text(build[1]), words(build[4])[0]].filter(Boolean).join(" ");

function asked() {
  const given = new URLSearchParams(location.hash.slice(1).replace("==", "%3D%3D"));
  const [first = ""] = given.keys(), [wanted, version = ""] = first.split("==");
  return { given, wanted, version };
}

function address(release, build) {
  const given = new URLSearchParams();
  for (const one of ["gpu", "driver", "python", "platform"]) if (form[one].value) given.set(one, form[one].value);
  if (build) given.set("build", name(build));
  const rest = given.toString().replaceAll("+", "%20");
  return `#${text(release[0])}==${encodeURIComponent(release[1])}${rest ? "&" + rest : ""}`;
}

function chip(release, build, place, builds, chosen) {
  const [state] = place < 0 ? [""] : cell(build, place);
  const same = builds.filter((one) => one[1] === build[1]);
  const differ = (field) => same.some((one) => one[field] !== build[field]);
  const apart = [differ(4) && words(build[4])[0], differ(0) && (build[0].match(/\+.*/) || ["untagged"])[0]];
  const runtime = [text(build[1]) || "no GPU code", ...apart.filter(Boolean)].join(" ");
  const link = node("a", state ? `${data.states[state][1]} ${runtime}` : runtime, { href: address(release, build), className: state });
  if (state) link.setAttribute("aria-label", `${text(release[0])} ${build[0]} ${runtime}: ${data.states[state][0]}`);
  if (build === chosen) link.setAttribute("aria-current", "true");
  return link;
}

function fits(build, place) {
  const platforms = words(build[4]), vendor = text(build[9]);
  return (place < 0 || ["", "cpu", data.devices[place][0]].includes(vendor))
    && (!form.python.value || words(build[3]).includes(form.python.value))
    && (!form.platform.value || platforms.includes(form.platform.value) || platforms.includes("any"));
}

function draw(chosen) {
  const place = device(form.gpu.value), wanted = form.release.value.trim();
  const found = data.releases.filter((one) => text(one[0]) === form.package.value && (!wanted || one[1].startsWith(wanted)))
    .map((one) => [one, one[3].filter((build) => fits(build, place))]).filter(([, builds]) => builds.length);
  const shown = all ? found : found.slice(0, FIRST);
  body.replaceChildren(...shown.map(([release, builds]) => {
    const row = node("tr"), head = node("th", "", { scope: "row" }), links = node("div", "", { className: "builds" });
    head.append(node("a", release[1], { href: `releases/${`${text(release[0])}-${release[1]}`.toLowerCase().replace(/[^a-z0-9.]+/g, "-")}.html` }));
    links.append(...builds.map((build) => chip(release, build, place, builds, chosen)));
    row.append(head, node("td"));
    row.lastChild.append(links);
    return row;
  }));
  more.hidden = shown.length === found.length;
  const unknown = form.gpu.value.trim() && place < 0 ? ` No GPU is known by the name ${form.gpu.value}.` : "";
  document.getElementById("count").textContent = `${found.length} release${found.length === 1 ? "" : "s"}.${unknown}`
    + (place < 0 ? " Name a GPU to see what runs on it." : " Builds for GPUs of other makers are left out.");
}

function quoted(word) {
  return /^[\w.+=-]+$/.test(word) ? word : `'${word}'`;
}

function describe(release, build) {
  const place = device(form.gpu.value), label = `${text(release[0])} ${build[0]} (${text(build[1])})`;
  const [state, why, sources] = place < 0 ? ["", "", []] : cell(build, place);
  const gpu = place < 0 ? "" : form.gpu.value.trim();
  const fill = (said) => said.replaceAll("{build}", label).replaceAll("{gpu}", data.devices[place][1]).replaceAll("{driver}", form.driver.value);
  const options = [gpu && `--gpu ${quoted(gpu)}`, gpu && form.driver.value && `--driver ${form.driver.value}`, form.python.value && `--python ${form.python.value}`];
  const rest = [build[2], ...options.filter(Boolean)].join(" ");
  const facts = [["Python", words(build[3]).join(", ")], ["Platforms", words(build[4]).join(", ")],
    ["Driver that its runtime needs (Linux)", build[5] && `${build[5]} or newer`],
    ["Drivers that run it on this GPU", place < 0 ? "" : serving(build, place)]];
  const list = node("dl"), known = node("details"), cited = node("ul");
  cited.append(...[...build[7], ...sources].map((one) => node("li", text(one))));
  known.append(node("summary", `How it is known: ${build[6]}`), cited);
  for (const [name, value] of facts) if (value) list.append(node("dt", name), node("dd", value));
  const head = node("h2", state ? `${label} on ${gpu}: ${data.states[state][0]}` : label);
  detail.className = state || "info";
  detail.replaceChildren(head, ...(why ? [node("p", fill(why) + ".")] : []), list, known,
    ...(state === "none" ? ["resolve"] : ["resolve", "dockerfile"]).map((name) => command(`envcheck ${name} ${rest}`)));
  detail.hidden = false;
}

function command(line) {
  const box = node("div", "", { className: "commands" }), button = node("button", "Copy", { type: "button" });
  const shown = node("pre", line, { tabIndex: 0 });
  shown.setAttribute("aria-label", "Command");
  button.onclick = () => navigator.clipboard.writeText(line).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select and copy by hand"; });
  box.append(shown, button);
  return box;
}

// The address says all that is shown, so that a view can be sent to somebody.
function follow() {
  const { given, wanted, version } = asked();
  if (data.releases.some((one) => text(one[0]) === wanted)) form.package.value = wanted;
  form.release.value = given.has("build") ? form.release.value : version;
  for (const one of ["gpu", "driver", "python", "platform"]) if (given.has(one)) form[one].value = given.get(one);
  detail.hidden = true;
  const release = data.releases.find((one) => text(one[0]) === wanted && one[1] === version);
  const build = release && (given.has("build") ? release[3].find((one) => name(one) === given.get("build"))
    : release[3].find((one) => fits(one, device(form.gpu.value))));
  draw(build);
  if (build) describe(release, build);
}

document.getElementById("filters").addEventListener("input", () => { all = false; draw(); detail.hidden = true; });
document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
more.onclick = () => { all = true; draw(); };
addEventListener("hashchange", follow);
follow();
