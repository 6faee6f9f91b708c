// The texts of a recipe's shaders, with line numbers. A text is put into the page when its part is opened first.

const dispatchWords = ({ groups, outputs, words }) => {
  if (outputs) return `a workgroup for ${outputs[0]}×${outputs[1]} outputs`;
  return groups ? `${groups} workgroups an image` : `a workgroup for ${words} words of the batch`;
};

function lines(text) {
  const pre = document.createElement('pre');
  text.trimEnd().split('\n').forEach((line) => {
    const code = document.createElement('code');
    const comment = line.trimStart().startsWith('//');
    // An empty line keeps its height.
    code.append(comment ? Object.assign(document.createElement('span'), { className: 'comment', textContent: line }) : line || '\u200b');
    pre.append(code);
  });
  return pre;
}

/** Fills `place` with a part for each pass of each group. The name of a group stands before those of its passes. */
export function listShaders(place, groups) {
  const passes = groups.flatMap(({ name, shaders }) => shaders.passes.map((pass) => ({ ...pass, name: name ? `${name}, ${pass.name}` : pass.name })));
  place.replaceChildren(...passes.map((pass) => {
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    const facts = document.createElement('span');
    facts.textContent = ` — ${pass.wgsl.trimEnd().split('\n').length} lines, workgroups of ${pass.workgroup_size.join('×')}, ${dispatchWords(pass.dispatch)}`;
    summary.append(pass.name, facts);
    details.append(summary);
    details.addEventListener('toggle', () => {
      if (!details.open || details.querySelector('.code')) return;
      const code = Object.assign(document.createElement('div'), { className: 'code', tabIndex: 0 });
      code.setAttribute('role', 'region');
      code.setAttribute('aria-label', `WGSL of ${pass.name}`);
      code.append(lines(pass.wgsl));
      details.append(code);
    });
    return details;
  }));
}
