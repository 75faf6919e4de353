for (const button of document.querySelectorAll("button"))
  button.onclick = () => navigator.clipboard.writeText(button.previousElementSibling.textContent)
    .then(() => { button.textContent = button.dataset.done ?? "Copied"; }, () => { button.textContent = button.dataset.failed ?? "Select and copy by hand"; });
addEventListener("beforeprint", () => { for (const folded of document.querySelectorAll("details")) folded.open = true; });
