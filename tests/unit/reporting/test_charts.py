"""Drawings of shapes on pages."""

import xml.etree.ElementTree as ET

from dpboost.reporting.charts import drawing, line
from dpboost.reporting.model_page import model_document
from tests.unit.explain.conftest import fitted


def test_drawings_are_well_formed_and_say_what_they_show():
    explanation = fitted(n_estimators=20).explain(pairs=0)
    for shape in explanation.shapes:
        picture = ET.fromstring(drawing(shape))
        assert picture.tag == "svg"
        assert picture.attrib["aria-label"] == line(shape)
        kinds = {element.tag for element in picture}
        assert ("circle" in kinds) == shape.is_categorical
        assert ("polygon" in kinds) != shape.is_categorical


def test_a_page_shows_shapes_where_the_noise_is_known():
    page = fitted(n_estimators=20).to_html()
    assert "Shapes of the features" in page
    assert page.count("<svg") == 4
    document = model_document(fitted(n_estimators=20))
    assert "age: effects from" in document.text()
    assert "* age: effects from" in document.markdown()
    assert "<svg" not in fitted(recipe="dpboost", epsilon=20, n_estimators=3).to_html()
